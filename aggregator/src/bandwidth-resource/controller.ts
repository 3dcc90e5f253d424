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

/** What the controller works with. */
interface BandwidthResourceOptions {
  readonly config: BandwidthResourceConfig;
  /** Name of the extended resource. */
  readonly resource: string;
  readonly store: ClusterStore;
  /** The newest one; null before the first. */
  readonly graph: () => ClusterGraphSnapshot | null;
  /** All nodes as they are known. */
  readonly nodes: () => readonly KubernetesObject[];
  readonly leadership: Leadership;
  readonly events: Pick<EventRecorder, "event">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

/**
 * Advertises each node's bandwidth in its status as an extended resource, so that kube-scheduler's own fit
 * and balance count requests for it. A resource that somebody else advertises is left alone; one of ours that
 * somebody else changed is reported and left as it is.
 */
export class BandwidthResource implements Service {
  readonly #options: BandwidthResourceOptions;
  readonly #loop: Periodic;
  readonly #metrics: ReturnType<typeof createBandwidthResourceMetrics>;
  /** Nodes by what was last found of them. */
  readonly #states = new Map<BandwidthStep["kind"], number>();
  /** Nodes whose resource somebody else has changed, as reported. */
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

  /** One round over all nodes. Rejects with StoreErrors of the way. */
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

  /**
   * Nodes that are to be written; counts the nodes by their state, and reports what somebody else has changed
   * since the round before.
   */
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
    // Under its former name first.
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

  /**
   * Judged anew by the whole object: what is followed of nodes lacks most of their conditions, and is a
   * little old.
   */
  async #write(name: string, measured: number | null): Promise<void> {
    const { store, leadership } = this.#options;
    const ref = { ...KINDS.node, name };
    const node = await store.get(ref);
    const patch = node === null ? null : this.#patch(node, this.#step(node, measured));
    // Meanwhile another one may have been elected.
    if (patch === null || !leadership.isLeader()) return;
    try {
      await store.jsonPatch(ref, patch, { fieldManager: FIELD_MANAGER, subresource: "status" });
      this.#metrics.writes.inc({ result: "written" });
    } catch (error) {
      // Changed or deleted since it was read: the next round sees it as it is.
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
