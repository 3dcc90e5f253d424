import { keyOf } from "@isochrone/kubernetes/basics";
import type { InformerChange, KubernetesObject } from "@isochrone/kubernetes";
import type { PodState } from "../domain/cluster-state.ts";

interface Entry {
  object: KubernetesObject;
  replicaSet: string | null;
  /** Last parsed state; null: no replica of a workload, or not parsed yet. */
  state: PodState | null;
}

/** Parses a pod only if it or its ReplicaSet changed: of 100,000 pods, hundreds change per second. */
export class PodIndex {
  readonly #read: (object: KubernetesObject) => PodState | null;
  readonly #entries = new Map<string, Entry>();
  readonly #byReplicaSet = new Map<string, Set<Entry>>();
  readonly #unread = new Set<Entry>();
  #current: readonly PodState[] | null = [];

  /** @param read returns null for pods that have ended */
  constructor(read: (object: KubernetesObject) => PodState | null) {
    this.#read = read;
  }

  take({ type, object }: InformerChange): void {
    const key = keyOf(object);
    if (type === "deleted") return this.#remove(key);
    const entry = this.#entries.get(key) ?? { object, replicaSet: null, state: null };
    this.#entries.set(key, entry);
    entry.object = object;
    this.#unread.add(entry);
    this.#assign(entry, replicaSetOf(object));
  }

  takeReplicaSet({ object }: InformerChange): void {
    for (const entry of this.#byReplicaSet.get(keyOf(object)) ?? []) this.#unread.add(entry);
  }

  /** Unordered. Returns the same array while nothing relevant has changed. */
  current(): readonly PodState[] {
    for (const entry of this.#unread) {
      const state = this.#read(entry.object);
      if (isSame(entry.state, state)) continue;
      entry.state = state;
      this.#current = null;
    }
    this.#unread.clear();
    this.#current ??= [...this.#entries.values()].map(({ state }) => state).filter((state) => state !== null);
    return this.#current;
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#unread.delete(entry);
    this.#assign(entry, null);
    if (entry.state !== null) this.#current = null;
  }

  #assign(entry: Entry, replicaSet: string | null): void {
    if (entry.replicaSet === replicaSet) return;
    if (entry.replicaSet !== null) {
      const previous = this.#byReplicaSet.get(entry.replicaSet)!;
      previous.delete(entry);
      if (previous.size === 0) this.#byReplicaSet.delete(entry.replicaSet);
    }
    entry.replicaSet = replicaSet;
    if (replicaSet === null) return;
    const entries = this.#byReplicaSet.get(replicaSet) ?? new Set();
    this.#byReplicaSet.set(replicaSet, entries.add(entry));
  }
}

function replicaSetOf({ metadata }: KubernetesObject): string | null {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner?.kind === "ReplicaSet" ? `${metadata.namespace ?? "default"}/${owner.name}` : null;
}

function isSame(a: PodState | null, b: PodState | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.node === b.node &&
    a.workload?.kind === b.workload?.kind &&
    a.workload?.name === b.workload?.name &&
    a.workflow.name === b.workflow.name &&
    isSamePlace(a.appGroup, b.appGroup) &&
    a.isMeshProxy === b.isMeshProxy &&
    a.aliases === b.aliases &&
    isSameNetwork(a, b)
  );
}

function isSameNetwork(a: PodState, b: PodState): boolean {
  return (
    a.addresses?.join() === b.addresses?.join() &&
    a.ingressLimitBitsPerSecond === b.ingressLimitBitsPerSecond &&
    a.egressLimitBitsPerSecond === b.egressLimitBitsPerSecond
  );
}

function isSamePlace(a: PodState["appGroup"], b: PodState["appGroup"]): boolean {
  return a?.group === b?.group && a?.selector === b?.selector;
}
