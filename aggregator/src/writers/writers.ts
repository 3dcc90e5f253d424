import type { ClusterStore, EventRecorder } from "@isochrone/kubernetes";
import {
  periodic,
  type Clock,
  type Logger,
  type Periodic,
  type Random,
  type Service,
} from "@isochrone/runtime";
import { isNodeAnnotation, isWorkloadAnnotation } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { WriteBudget } from "./domain/write-budget.ts";
import type { Writer } from "@isochrone/topology";
import type { PublishedGraphs } from "../domain/graphs/graph-keeper.ts";
import { AnnotationPlanner, type AnnotatedObjects } from "./annotation-planner.ts";
import { createWriterMetrics, type WriteKind, type WriterMetrics } from "./metrics.ts";
import { NetperfWriter } from "./netperf-writer.ts";
import { ObjectWriter } from "./object-writer.ts";
import type { Ownership } from "./ownership.ts";
import type { AnnotationConfig } from "./settings.ts";
import { WriteQueue } from "./write-queue.ts";

interface WriterDependencies {
  readonly store: ClusterStore;
  /** Store for leader-only writes to the same cluster. @default `store` */
  readonly leaderStore?: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly events: Pick<EventRecorder, "event">;
  readonly ownership: Ownership;
  readonly self: Writer;
  readonly objects: AnnotatedObjects;
  /** The newest graphs; null before the first. */
  readonly graphs: () => PublishedGraphs | null;
  /** Called between steps to yield to the event loop. @default never */
  readonly turn?: () => Promise<void> | null;
}

/** Interval of spending the budget and of planning. */
const TICK_MS = 1000;
const PLAN_INTERVAL_MS = 5000;
/** Maximum age of a written graph. An older one would repeat the current annotations. */
const MAX_GRAPH_AGE_MS = 60_000;

/** Writes graph data onto the cluster's objects. A failure here does not affect the graphs. */
export function createWriters(config: AnnotationConfig, deps: WriterDependencies): Service {
  return new Writers(config, deps);
}

class Writers implements Service {
  readonly #config: AnnotationConfig;
  readonly #deps: WriterDependencies;
  readonly #planner: AnnotationPlanner;
  readonly #queue: WriteQueue;
  readonly #budget = new WriteBudget();
  readonly #netperf: NetperfWriter | null;
  readonly #metrics: WriterMetrics;
  readonly #loop: Periodic;
  #firstGraphMs: number | null = null;
  #plannedMs = Number.NEGATIVE_INFINITY;
  #netperfMs = Number.NEGATIVE_INFINITY;

  constructor(config: AnnotationConfig, deps: WriterDependencies) {
    const { clock, logger, registry } = deps;
    this.#config = config;
    this.#deps = deps;
    this.#planner = new AnnotationPlanner({ config, ...deps });
    this.#netperf =
      config.netperfConfigMap === null
        ? null
        : new NetperfWriter({
            ...deps,
            ...config,
            store: deps.leaderStore ?? deps.store,
            configMap: config.netperfConfigMap,
          });
    const writers = { node: this.#writer("node"), workload: this.#writer("workload") };
    this.#queue = new WriteQueue({
      ...deps,
      budget: this.#budget,
      writer: (kind) => (kind === "node" ? writers.node : writers.workload),
      writesPerSecond: () => this.#writesPerSecond(),
      onResult: (kind, result) => this.#metrics.writes.inc({ kind, result }),
    });
    this.#metrics = createWriterMetrics(registry, {
      pending: (kind) => this.#queue.pending(kind),
      oldestAgeSeconds: (kind) => this.#oldestAgeSeconds(kind),
      disputed: (kind) => (kind === "configmap" ? 0 : this.#planner.disputed(kind)),
      yielded: (kind) => (kind === "configmap" ? 0 : this.#planner.yielded(kind)),
      isTooLarge: () => this.#netperf?.isTooLarge ?? false,
    });
    this.#loop = periodic({
      clock,
      intervalMs: TICK_MS,
      run: (signal) => this.#tick(signal),
      onError: (error) => logger.error("writing annotations failed", { error }),
    });
  }

  async start(): Promise<void> {
    this.#loop.start();
  }

  /** Call before the Leases end, because writes require one. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async #tick(signal: AbortSignal): Promise<void> {
    const graphs = this.#deps.graphs();
    if (graphs === null || !this.#isWarm() || !this.#isFresh(graphs)) return;
    const nowMs = this.#deps.clock.monotonic();
    if (nowMs - this.#plannedMs >= Math.min(PLAN_INTERVAL_MS, this.#config.minIntervalMs)) {
      this.#plannedMs = nowMs;
      const { pending, isFrameless } = await this.#planner.plan(graphs);
      this.#queue.plan(pending);
      if (isFrameless) this.#metrics.skipped.inc({ reason: "no_frame" });
    }
    if (signal.aborted) return;
    await this.#lookAtNetperf(graphs);
    await this.#queue.drain(signal);
  }

  #isWarm(): boolean {
    const nowMs = this.#deps.clock.monotonic();
    this.#firstGraphMs ??= nowMs;
    const isWarm = nowMs - this.#firstGraphMs >= this.#config.warmUpMs;
    if (!isWarm) this.#metrics.skipped.inc({ reason: "warming_up" });
    return isWarm;
  }

  #isFresh({ builtAtMs }: PublishedGraphs): boolean {
    const isFresh = this.#deps.clock.now() - builtAtMs <= Math.max(MAX_GRAPH_AGE_MS, this.#config.warmUpMs);
    if (!isFresh) this.#metrics.skipped.inc({ reason: "stale_graph" });
    return isFresh;
  }

  async #lookAtNetperf(graphs: PublishedGraphs): Promise<void> {
    const { clock, ownership } = this.#deps;
    const nowMs = clock.monotonic();
    if (this.#netperf === null || nowMs - this.#netperfMs < this.#config.netperfIntervalMs) return;
    if (!ownership.isLeader() || !this.#budget.take(nowMs, this.#writesPerSecond())) return;
    this.#netperfMs = nowMs;
    const { result, unnamed } = await this.#netperf.look(graphs.cluster("full"), () => ownership.isLeader());
    if (result !== null) this.#metrics.writes.inc({ kind: "configmap", result });
    if (unnamed > 0) this.#metrics.skipped.inc({ reason: "name_too_long" });
    if (this.#netperf.isTooLarge) this.#metrics.skipped.inc({ reason: "too_large" });
  }

  #writesPerSecond(): number {
    return this.#config.writesPerSecond / Math.max(1, this.#deps.ownership.replicas());
  }

  #oldestAgeSeconds(kind: WriteKind): number | null {
    const ageMs = kind === "configmap" ? (this.#netperf?.ageMs ?? null) : this.#planner.oldestAgeMs(kind);
    return ageMs === null ? null : ageMs / 1000;
  }

  #writer(kind: "node" | "workload"): ObjectWriter {
    const { prefix } = this.#config;
    const isOwn = kind === "node" ? isNodeAnnotation : isWorkloadAnnotation;
    return new ObjectWriter({
      ...this.#deps,
      isOwnKey: (key) => key.startsWith(prefix) && isOwn(key.slice(prefix.length)),
      onConflict: (fields) => this.#metrics.conflicts.inc({ kind }, fields),
    });
  }
}
