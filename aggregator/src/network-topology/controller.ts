import { setImmediate } from "node:timers/promises";
import {
  isStoreError,
  KINDS,
  timestamp,
  type ClusterStore,
  type EventRecorder,
  type KubernetesObject,
  type NetworkTopology,
  type ReportedEvent,
  type Leadership,
} from "@isochrone/kubernetes";
import { inTurns } from "@isochrone/primitives/algorithms";
import { periodic, type Clock, type Logger, type Periodic, type Service } from "@isochrone/runtime";
import { STALE_AFTER_WINDOWS, type ClusterGraphSnapshot } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { allocatedBandwidthSteps } from "./domain/allocated-bandwidth.ts";
import { areaCapacities } from "./domain/area-capacity.ts";
import { areaCostSteps } from "./domain/area-costs.ts";
import { AreaIndex } from "./domain/areas.ts";
import { nextFigures, sameFigures, withinLimit, type AreaFigures } from "./domain/figures.ts";
import { placedPods, requirementsOf } from "./app-groups.ts";
import {
  createNetworkTopologyMetrics,
  type NetworkTopologyMetrics,
  type TopologyFault,
  type TopologyWriteResult,
} from "./metrics.ts";
import {
  costUnitMs,
  newTopology,
  SCALE_ANNOTATION,
  topologyPatch,
  WRITTEN_ANNOTATION,
  writtenCosts,
} from "./resource.ts";
import { isUnavailable } from "./unavailable.ts";
import type { Writing } from "./resource.ts";
import type { NetworkTopologyConfig } from "./settings.ts";

const FIELD_MANAGER = "isochrone-network-topology";
/** Each takes about 100 bytes of etcd's limit of 1.5 MB. */
const MAX_PAIRS = 8_000;

interface TopologyInputs {
  /** The newest graph; null before the first. */
  readonly graph: () => ClusterGraphSnapshot | null;
  readonly pods: () => readonly KubernetesObject[];
  /** Null: not listed yet, or the CRD is not installed. */
  readonly appGroups: () => readonly KubernetesObject[] | null;
}

interface MeasuredAreas {
  readonly graph: ClusterGraphSnapshot;
  readonly areas: AreaIndex;
  readonly costsMs: ReadonlyMap<string, number>;
  readonly capacities: ReadonlyMap<string, number>;
}

interface NetworkTopologyControllerOptions {
  readonly config: NetworkTopologyConfig;
  readonly store: ClusterStore;
  readonly inputs: TopologyInputs;
  readonly leadership: Leadership;
  readonly events: Pick<EventRecorder, "event">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

/**
 * Maintains the NetperfCosts of the NetworkTopology. The leader writes after significant changes, at most
 * once per interval, with optimistic concurrency. Keeps all other weights. Reports foreign changes and does
 * not revert them.
 */
export class NetworkTopologyController implements Service {
  readonly #options: NetworkTopologyControllerOptions;
  readonly #metrics: NetworkTopologyMetrics;
  readonly #loop: Periodic;
  readonly #ref: { readonly namespace: string; readonly name: string };
  readonly #measuredMs = new Map<string, number>();
  /** Start of this replica's uninterrupted leadership. Earlier measurements are unknown to it. */
  #leadingSinceMs: number | null = null;
  #lastWriteMs = Number.NEGATIVE_INFINITY;
  #fault: TopologyFault | null = null;
  #pairs = 0;
  #areas: MeasuredAreas | null = null;

  constructor(options: NetworkTopologyControllerOptions) {
    const { config, clock, logger, registry } = options;
    this.#options = options;
    this.#ref = { namespace: config.namespace, name: config.name };
    this.#metrics = createNetworkTopologyMetrics(registry, {
      fault: () => this.#fault,
      pairs: () => this.#pairs,
    });
    this.#loop = periodic({
      clock,
      intervalMs: config.checkIntervalMs,
      run: () => this.check(),
      onError: (error) => {
        this.#metrics.writes.inc({ result: "failed" });
        logger.warnOnce("network-topology", "the NetworkTopology can't be reconciled, trying again", {
          error,
        });
      },
    });
  }

  /** Reason for a missing write; null: written, or nothing to write. */
  get fault(): TopologyFault | null {
    return this.#fault;
  }

  async start(): Promise<void> {
    if (this.#options.config.writer === "isochrone") this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Runs one round: reads the object, and writes it if needed. Rejects with StoreErrors. */
  async check(): Promise<void> {
    const { leadership, clock, inputs } = this.#options;
    const graph = inputs.graph();
    if (!leadership.isLeader()) {
      this.#leadingSinceMs = null;
      this.#fault = null;
      return;
    }
    if (graph === null) return;
    this.#leadingSinceMs ??= clock.monotonic();
    const object = await this.#read();
    if (object === undefined) return;
    if (object === null) await this.#create(graph);
    else if (object.metadata.deletionTimestamp === undefined) await this.#update(object, graph);
  }

  /** Undefined: the CRD is not installed, or read access is denied. */
  async #read(): Promise<NetworkTopology | null | undefined> {
    try {
      return await this.#options.store.get({ ...KINDS.networkTopology, ...this.#ref });
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      this.#noteUnavailable(error);
      return undefined;
    }
  }

  #noteUnavailable(error: unknown): void {
    this.#fault = "unavailable";
    this.#options.logger.warnOnce(
      "network-topology:unavailable",
      "no NetworkTopology: its kind or its namespace isn't there, or access is denied",
      { ...this.#ref, error },
    );
  }

  async #create(graph: ClusterGraphSnapshot): Promise<void> {
    const { config, store, logger } = this.#options;
    const unitMs = config.costUnitMs;
    const figures = await this.#figures(graph, new Map(), unitMs);
    this.#pairs = figures.size;
    if (figures.size === 0 || !this.#isDue(null)) return;
    const object = newTopology(this.#ref, config.configMapName, this.#writing(graph, figures, unitMs));
    try {
      if (!(await this.#write("created", () => store.create(object)))) return;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      this.#noteUnavailable(error);
      return;
    }
    this.#fault = null;
    logger.info("NetworkTopology created", { ...this.#ref, pairs: figures.size });
  }

  async #update(object: NetworkTopology, graph: ClusterGraphSnapshot): Promise<void> {
    const { config, store, logger } = this.#options;
    const written = writtenCosts(object);
    if (written.isChanged) {
      return this.#report(object, "changed_by_another", {
        reason: "NetperfCostsChangedByAnother",
        note: `Somebody else has changed the NetperfCosts that Isochrone wrote. They are left as they are. Set networkTopology.writer to upstream if its controller is to write them, or remove the annotation ${WRITTEN_ANNOTATION} to have Isochrone write them again.`,
      });
    }
    const unitMs = costUnitMs(object, config.costUnitMs);
    if (unitMs === null) {
      return this.#report(object, "invalid_scale", {
        reason: "InvalidCostScale",
        note: `The annotation ${SCALE_ANNOTATION} must be a number of milliseconds above 0, such as 0.1, got ${JSON.stringify(object.metadata.annotations?.[SCALE_ANNOTATION])}. NetperfCosts are not written until it is.`,
      });
    }
    this.#fault = null;
    // Costs in another unit or by another rule are not comparable.
    const isGuide = written.unitMs === unitMs;
    const figures = await this.#figures(graph, isGuide ? written.figures : new Map(), unitMs);
    this.#pairs = figures.size;
    const isCurrent = isGuide && sameFigures(figures, written.figures);
    if (isCurrent || (figures.size === 0 && written.index < 0) || !this.#isDue(object)) return;
    const patch = topologyPatch(object, this.#writing(graph, figures, unitMs));
    const ref = { ...KINDS.networkTopology, ...this.#ref };
    const done = await this.#write("updated", () =>
      store.jsonPatch(ref, patch, { fieldManager: FIELD_MANAGER }),
    );
    if (done && !written.isOurs && written.index >= 0)
      logger.info("NetperfCosts of the NetworkTopology taken over", { ...this.#ref });
  }

  async #figures(
    graph: ClusterGraphSnapshot,
    written: ReadonlyMap<string, AreaFigures>,
    unitMs: number,
  ): Promise<Map<string, AreaFigures>> {
    const { config, clock, logger } = this.#options;
    const { areas, costsMs, capacities } = await this.#measure(graph);
    const allocated = await this.#allocated(areas);
    const nowMs = clock.monotonic();
    for (const key of costsMs.keys()) this.#measuredMs.set(key, nowMs);
    for (const [key, measuredMs] of this.#measuredMs)
      if (nowMs - measuredMs > config.holdMs) this.#measuredMs.delete(key);
    const next = nextFigures({
      costsMs,
      capacities,
      allocated,
      written,
      unitMs,
      capacityTolerance: config.capacityTolerance,
      isHeld: (key) => nowMs - this.#knownMs(key, nowMs) < config.holdMs,
    });
    const { figures, leftOut } = withinLimit(next, MAX_PAIRS);
    if (leftOut.length > 0) {
      const rule = `at most ${MAX_PAIRS} pairs in all`;
      logger.warnOnce("network-topology:pairs", "kinds of areas left out of the NetworkTopology", {
        leftOut,
        rule,
        pairs: next.size,
      });
    }
    return figures;
  }

  /** Cached per graph: a large cluster's graph has hundreds of thousands of links. */
  async #measure(graph: ClusterGraphSnapshot): Promise<MeasuredAreas> {
    if (this.#areas?.graph === graph) return this.#areas;
    const areas = new AreaIndex(graph.nodes);
    const steps = areaCostSteps(graph, areas, STALE_AFTER_WINDOWS * graph.windowSeconds);
    const costsMs = await inTurns(steps, () => setImmediate());
    this.#areas = { graph, areas, costsMs, capacities: areaCapacities(graph, areas) };
    return this.#areas;
  }

  #knownMs(key: string, nowMs: number): number {
    return Math.max(this.#measuredMs.get(key) ?? Number.NEGATIVE_INFINITY, this.#leadingSinceMs ?? nowMs);
  }

  /** Returns null while AppGroups are unknown; the written values then stay. */
  async #allocated(areas: AreaIndex): Promise<Map<string, bigint> | null> {
    const { inputs } = this.#options;
    const appGroups = inputs.appGroups();
    if (appGroups === null) return null;
    const requirements = requirementsOf(appGroups);
    if (requirements.length === 0) return new Map();
    const steps = allocatedBandwidthSteps(areas, placedPods(inputs.pods()), requirements);
    return inTurns(steps, () => setImmediate());
  }

  #writing(graph: ClusterGraphSnapshot, figures: Writing["figures"], unitMs: number): Writing {
    const time = timestamp(this.#options.clock.now());
    return { figures, unitMs, nodeCount: graph.nodes.length, time };
  }

  /** Uses the write time in the object, so that a new leader keeps the interval. */
  #isDue(object: NetworkTopology | null): boolean {
    const { clock, config } = this.#options;
    if (clock.monotonic() - this.#lastWriteMs < config.minWriteIntervalMs) return false;
    const time = object?.status?.weightCalculationTime;
    const agoMs = clock.now() - (typeof time === "string" ? Date.parse(time) : Number.NaN);
    // A time in the future is a clock error; do not wait for it.
    return !(agoMs >= 0 && agoMs < config.minWriteIntervalMs);
  }

  async #write(result: TopologyWriteResult, write: () => Promise<unknown>): Promise<boolean> {
    const { leadership, clock } = this.#options;
    if (!leadership.isLeader()) return false;
    try {
      await write();
    } catch (error) {
      const isGone = result === "updated" && isStoreError(error, "not_found");
      if (!isGone && !isStoreError(error, "conflict") && !isStoreError(error, "already_exists")) throw error;
      // Changed or deleted since it was read; the next round sees the new state.
      this.#metrics.writes.inc({ result: "conflict" });
      return false;
    }
    this.#lastWriteMs = clock.monotonic();
    this.#metrics.writes.inc({ result });
    return true;
  }

  #report(
    object: KubernetesObject,
    fault: TopologyFault,
    event: Pick<ReportedEvent, "reason" | "note">,
  ): void {
    if (this.#fault === fault) return;
    this.#fault = fault;
    this.#options.logger.warn("the NetworkTopology is not written", { ...this.#ref, ...event });
    this.#options.events.event(object, { type: "Warning", action: "WriteNetperfCosts", ...event });
  }
}
