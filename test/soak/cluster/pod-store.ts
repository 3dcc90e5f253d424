import {
  KINDS,
  StoreError,
  type ClusterStore,
  type Detail,
  type KindRef,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import type { ListOptions, ObjectList, UntypedStore, WatchEvent } from "@isochrone/kubernetes/testing";
import { podObject } from "./objects.ts";
import type { PodIdentity, World } from "./world.ts";

/** Maximum lag of a watch in changes. */
const MAX_CHANGES = 20_000;

interface Change {
  readonly type: "added" | "deleted";
  readonly pod: PodIdentity;
}

/**
 * Creates the world's pods on demand and keeps none, because 100,000 whole pods would distort the measured
 * memory. The inner store serves other kinds.
 */
export class PodStore implements UntypedStore {
  readonly get: ClusterStore["get"];
  readonly create: ClusterStore["create"];
  readonly update: ClusterStore["update"];
  readonly patch: ClusterStore["patch"];
  readonly jsonPatch: ClusterStore["jsonPatch"];
  readonly apply: ClusterStore["apply"];
  readonly delete: ClusterStore["delete"];
  readonly evict: ClusterStore["evict"];
  readonly scale: ClusterStore["scale"];
  readonly bind: ClusterStore["bind"];
  readonly #inner: ClusterStore;
  readonly #world: World;
  readonly #slots: number;
  /** End time of each slot's pod, Unix ms. */
  readonly #ends: Float64Array;
  #nowMs: number;
  /** Newest changes, oldest first; versions count them. */
  #changes: Change[] = [];
  #version = 1;
  #changed = Promise.withResolvers<void>();

  constructor(inner: ClusterStore, world: World, nowMs: number) {
    this.#inner = inner;
    this.#world = world;
    this.#slots = world.shape.nodes * world.shape.podsPerNode;
    this.#ends = Float64Array.from({ length: this.#slots }, (_, slot) => world.endOfPod(slot, nowMs));
    this.#nowMs = nowMs;
    this.get = inner.get.bind(inner);
    this.create = inner.create.bind(inner);
    this.update = inner.update.bind(inner);
    this.patch = inner.patch.bind(inner);
    this.jsonPatch = inner.jsonPatch.bind(inner);
    this.apply = inner.apply.bind(inner);
    this.delete = inner.delete.bind(inner);
    this.evict = inner.evict.bind(inner);
    this.scale = inner.scale.bind(inner);
    this.bind = inner.bind.bind(inner);
  }

  /** Replaces the pods whose end has come. */
  advance(nowMs: number): void {
    for (let slot = 0; slot < this.#slots; slot++) {
      if (this.#ends[slot]! > nowMs) continue;
      this.#change({ type: "deleted", pod: this.#world.pod(slot, this.#nowMs) });
      this.#change({ type: "added", pod: this.#world.pod(slot, nowMs) });
      this.#ends[slot] = this.#world.endOfPod(slot, nowMs);
    }
    this.#nowMs = nowMs;
    if (this.#changes.length > MAX_CHANGES) this.#changes = this.#changes.slice(-MAX_CHANGES / 2);
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }

  async list(kind: KindRef, options: ListOptions = {}): Promise<ObjectList> {
    if (kind.kind !== KINDS.pod.kind) return await this.#inner.list(kind, options);
    const items = Array.from({ length: this.#slots }, (_, slot) =>
      this.#object(this.#world.pod(slot, this.#nowMs), options),
    );
    return { items, resourceVersion: String(this.#version) };
  }

  async *watch(kind: KindRef, options: Parameters<ClusterStore["watch"]>[1]): AsyncGenerator<WatchEvent> {
    if (kind.kind !== KINDS.pod.kind) {
      yield* this.#inner.watch(kind, options);
      return;
    }
    const aborted = new Promise<void>((resolve) => {
      options.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    for (let version = Number(options.resourceVersion); !options.signal.aborted;) {
      if (version === this.#version) await Promise.race([this.#changed.promise, aborted]);
      for (; version < this.#version && !options.signal.aborted; version++) {
        const change = this.#changes.at(version - this.#version);
        if (change === undefined || this.#version - version > this.#changes.length)
          throw new StoreError("expired", `version ${version} of the pods is no longer known`);
        yield { type: change.type, object: this.#object(change.pod, options) };
      }
    }
  }

  #change(change: Change): void {
    this.#changes.push(change);
    this.#version++;
  }

  #object(pod: PodIdentity, { trim }: Detail): KubernetesObject {
    const object = podObject(this.#world, pod, this.#version);
    return trim === undefined ? object : trim(object);
  }
}
