import {
  isStoreError,
  KINDS,
  timestamp,
  type ClusterStore,
  type EventRecorder,
  type JsonPatchOperation,
  type KubernetesObject,
  type Leadership,
} from "@isochrone/kubernetes";
import { periodic, type Clock, type Logger, type Periodic, type Service } from "@isochrone/runtime";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { bestBursts } from "./domain/node-bandwidth.ts";
import { bandwidthStep, type BandwidthStep } from "./domain/step.ts";
import { createBandwidthResourceMetrics } from "./metrics.ts";
import { advertisementOf, advertisePatch, nodeBandwidth, withdrawPatch } from "./node-status.ts";
import type { BandwidthResourceConfig } from "./settings.ts";

const FIELD_MANAGER = "isochrone-bandwidth-resource";

interface BandwidthResourceOptions {
  readonly config: BandwidthResourceConfig;
  readonly resource: string;
  readonly store: ClusterStore;
  /** The newest graph; null before the first. */
  readonly graph: () => ClusterGraphSnapshot | null;
  readonly nodes: () => readonly KubernetesObject[];
  readonly leadership: Leadership;
  readonly events: Pick<EventRecorder, "event">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

/**
 * Advertises each node's bandwidth as an extended resource in its status, for kube-scheduler's fit and
 * balance. Never changes a resource that another component advertises. If another component changed ours,
 * reports that and leaves it.
 */
export class BandwidthResource implements Service {
  readonly #options: BandwidthResourceOptions;
  readonly #loop: Periodic;
  readonly #metrics: ReturnType<typeof createBandwidthResourceMetrics>;
  readonly #states = new Map<BandwidthStep["kind"], number>();
  #changed = new Set<string>();

  constructor(options: BandwidthResourceOptions) {
    const { config, clock, logger, registry } = options;
    this.#options = options;
    this.#metrics = createBandwidthResourceMetrics(registry, this.#states);
    this.#loop = periodic({
      clock,
      intervalMs: config.checkIntervalMs,
      run: (signal) => this.check(signal),
      onError: (error) => {
        this.#metrics.writes.inc({ result: "failed" });
        logger.warnOnce("bandwidth-resource", "nodes' bandwidth can't be advertised, trying again", {
          error,
        });
      },
    });
  }

  async start(): Promise<void> {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Runs one round over all nodes. Rejects with StoreErrors. */
  async check(signal?: AbortSignal): Promise<void> {
    const { leadership, graph, config } = this.#options;
    const snapshot = graph();
    if (!leadership.isLeader()) this.#states.clear();
    if (!leadership.isLeader() || snapshot === null) return;
    const bursts = config.advertise === "measured" ? bestBursts(snapshot) : new Map<string, number>();
    for (const name of this.#due(bursts).slice(0, config.maxWritesPerCheck)) {
      if (signal?.aborted === true) return;
      await this.#write(name, bursts.get(name) ?? null);
    }
  }

  /** Returns the nodes to write. Counts nodes by state, and reports foreign changes since the last round. */
  #due(bursts: ReadonlyMap<string, number>): string[] {
    const changed = new Set<string>();
    const due: string[] = [];
    this.#states.clear();
    for (const node of this.#options.nodes()) {
      const { name, deletionTimestamp } = node.metadata;
      if (deletionTimestamp !== undefined) continue;
      const step = this.#step(node, bursts.get(name) ?? null);
      this.#states.set(step.kind, (this.#states.get(step.kind) ?? 0) + 1);
      if (step.kind === "changed") {
        changed.add(name);
        if (!this.#changed.has(name)) this.#report(node);
      }
      if (step.kind === "advertise" || step.kind === "withdraw") due.push(name);
    }
    this.#changed = changed;
    return due;
  }

  #step(node: KubernetesObject, measured: number | null): BandwidthStep {
    const { config, resource } = this.#options;
    const advertisement = advertisementOf(node);
    if (advertisement !== null && advertisement.resource !== resource) return { kind: "withdraw" };
    return bandwidthStep(config.advertise, nodeBandwidth(node, resource), measured, config.tolerance);
  }

  #patch(node: KubernetesObject, step: BandwidthStep): JsonPatchOperation[] | null {
    const { resource, clock } = this.#options;
    if (step.kind === "withdraw") return withdrawPatch(node);
    if (step.kind !== "advertise") return null;
    const { bitsPerSecond, origin } = step;
    return advertisePatch(node, { bitsPerSecond, resource, origin }, timestamp(clock.now()));
  }

  /** Decides again by the whole, current object: the watched copy lacks most conditions and may be stale. */
  async #write(name: string, measured: number | null): Promise<void> {
    const { store, leadership } = this.#options;
    const ref = { ...KINDS.node, name };
    const node = await store.get(ref);
    const patch = node === null ? null : this.#patch(node, this.#step(node, measured));
    if (patch === null || !leadership.isLeader()) return;
    try {
      await store.jsonPatch(ref, patch, { fieldManager: FIELD_MANAGER, subresource: "status" });
      this.#metrics.writes.inc({ result: "written" });
    } catch (error) {
      // Changed or deleted since it was read; the next round sees the new state.
      if (!isStoreError(error, "conflict") && !isStoreError(error, "not_found")) throw error;
      this.#metrics.writes.inc({ result: "conflict" });
    }
  }

  #report(node: KubernetesObject): void {
    const { resource, events, logger } = this.#options;
    const { name } = node.metadata;
    const note = `Somebody else has changed ${resource}, which Isochrone advertises. It is left as it is. Remove it from the node's capacity to have Isochrone advertise it again, or set bandwidthResource.advertise to off.`;
    logger.warn("a node's bandwidth was changed by another one", { node: name, resource });
    events.event(node, {
      type: "Warning",
      reason: "BandwidthChangedByAnother",
      action: "AdvertiseBandwidth",
      note,
    });
  }
}
