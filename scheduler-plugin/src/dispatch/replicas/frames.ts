// Orchestration frames: the number of replicas per Service and zone. Every replica of the scheduler-plugin
// computes them; only the leader applies them.
import { DISPATCH_ANNOTATIONS, keyOf, moveOwnerOf, replicaModeOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { periodic } from "@isochrone/runtime";
import type { Clock, Logger, Periodic, Service } from "@isochrone/runtime";
import type { KnownRate, WantedReplicas } from "@isochrone/dispatch/replicas";
import type { ReplicaReport } from "@isochrone/topology";
import type { ClusterPods } from "../../adapters/cluster-pods.ts";
import type { GraphSource } from "../../ports/ports.ts";
import { yielded } from "../../proposals/cluster-view.ts";
import type { DemandReader } from "../demand-reader.ts";
import { clusterZones } from "../objects/service-view.ts";
import type { ServiceFollower } from "../service-follower.ts";
import { ClusterRoom } from "./cluster-room.ts";
import { problemOf, wantsOf } from "./frame-messages.ts";
import { FramePods } from "./frame-pods.ts";
import { FrameSolver } from "./frame-solver.ts";
import type { ReplicaMetrics } from "./metrics.ts";
import type { NodeImages } from "./node-images.ts";
import { withoutShared, type Asking, type Outcome, type ReplicaScaler } from "./scaler.ts";
import {
  serviceAsk,
  serviceFrame,
  type FrameZones,
  type KnownService,
  type ReplicaRefusal,
  type ServiceAsk,
  type ServiceFrame,
} from "./service-frame.ts";
import { workloadKey } from "./workload-pods.ts";
import type { WorkloadWish, ZoneWishes } from "./zone-wishes.ts";

export interface FramesOptions {
  readonly follower: Pick<ServiceFollower, "services" | "slices" | "isSynced">;
  readonly demand: DemandReader;
  readonly graphs: Pick<GraphSource, "cluster">;
  readonly pods: Pick<ClusterPods, "items" | "isSynced">;
  readonly images: Pick<NodeImages, "hasAll" | "sizeMb">;
  readonly scaler: ReplicaScaler;
  readonly wishes: ZoneWishes;
  readonly metrics: ReplicaMetrics;
  readonly frameMs: number;
  readonly changes: number;
  readonly surplusMs: number;
  readonly least: { readonly minNodes: number; readonly minZones: number };
  readonly clock: Clock;
  readonly logger: Logger;
  /** @default one with a thread for large frames */
  readonly solver?: FrameSolver;
}

type Row = ReplicaReport["services"][number];

type Entry = Omit<Asking, "frame"> & { readonly ask: ServiceAsk | ReplicaRefusal };

/** Longest delay of a scoring request. */
const SLICE_MS = 5;

export class ReplicaFrames implements Service {
  readonly #options: FramesOptions;
  readonly #rounds: Periodic;
  readonly #solver: FrameSolver;
  readonly #known = new Map<string, KnownService>();
  #demandVersion: string | null = null;
  #report: ReplicaReport;

  constructor(options: FramesOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#solver = options.solver ?? new FrameSolver({ clock });
    this.#report = this.#reportOf([], "no frame was worked out yet");
    this.#rounds = periodic({
      clock,
      intervalMs: options.frameMs,
      immediate: true,
      run: (signal) => this.#round(signal),
      onError: (error) =>
        logger.warnOnce("replicas", "replicas can't be worked out, trying again", { error }),
    });
  }

  start(): Promise<void> {
    this.#rounds.start();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    const ended = this.#rounds.stop();
    await this.#solver.close();
    await ended;
    this.#options.metrics.show([]);
  }

  report(): ReplicaReport {
    return { ...this.#report, leads: this.#options.scaler.leads };
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { demand, logger } = this.#options;
    try {
      await demand.refresh(signal);
    } catch (error) {
      logger.warnOnce("replicas-demand", "the demand of zones can't be read", { error });
    }
    if (signal.aborted) return;
    const trouble = this.#trouble();
    if (trouble === null) await this.#frame(signal);
    else this.#show(this.#reportOf([], trouble));
  }

  #trouble(): string | null {
    const { follower, pods, scaler, demand } = this.#options;
    if (!follower.isSynced || !pods.isSynced || !scaler.isSynced)
      return "the cluster's objects were not listed yet";
    return demand.isEmpty && !demand.isStale ? "no demand was read yet" : null;
  }

  async #frame(signal: AbortSignal): Promise<void> {
    const { demand, scaler, wishes, clock, metrics, pods: all } = this.#options;
    const beganMs = clock.monotonic();
    const services = this.#services();
    const namespaces = new Set(services.map(({ metadata }) => metadata.namespace ?? "default"));
    const pods = await FramePods.of(all.items(), namespaces, signal);
    const entries = await this.#entries(services, pods, signal);
    const asking = await this.#asking(entries, signal);
    if (signal.aborted || asking === null) return;
    if (typeof asking === "string") return this.#failed(asking);
    metrics.frameSeconds.observe((clock.monotonic() - beganMs) / 1000);
    await yielded();
    wishes.replace(demand.isStale ? new Map() : wishesOf(asking));
    const outcomes = demand.isStale ? scaler.stale(asking) : await scaler.settle(asking, pods.marked);
    await yielded();
    this.#show(this.#reportOf(asking.map((each, at) => rowOf(each, outcomes[at]!))));
  }

  /** Without a frame no metric is shown, and earlier wishes direct no pod. */
  #failed(trouble: string): void {
    const { logger, wishes } = this.#options;
    logger.warnOnce("replicas", "replicas can't be worked out, trying again", { trouble });
    wishes.replace(new Map());
    this.#show(this.#reportOf([], trouble));
  }

  #services(): KubernetesObject[] {
    const services = this.#options.follower
      .services()
      .filter(({ metadata }) => metadata.annotations?.[DISPATCH_ANNOTATIONS.replicas] !== undefined)
      .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const keys = new Set(services.map(keyOf));
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
    return services;
  }

  async #entries(
    services: readonly KubernetesObject[],
    pods: FramePods,
    signal: AbortSignal,
  ): Promise<Entry[]> {
    const { follower, clock, graphs, demand, images, surplusMs } = this.#options;
    const around = {
      pods,
      zones: this.#zones(),
      room: new ClusterRoom(graphs.cluster()?.nodes ?? [], pods, images),
      isNews: demand.version !== this.#demandVersion,
      windowSeconds: demand.windowSeconds,
      surplusMs,
    };
    this.#demandVersion = demand.version;
    const entries: Entry[] = [];
    const slice = new Slice(clock);
    for (const service of services) {
      await slice.turn();
      if (signal.aborted) break;
      const { namespace = "default", name } = service.metadata;
      const ask = serviceAsk({
        ...around,
        service,
        slices: follower.slices(namespace, name),
        demand: demand.of(keyOf(service)),
        known: this.#knownOf(service),
        nowMs: clock.monotonic(),
      });
      if (ask !== null) entries.push({ service, mode: replicaModeOf(service) ?? "none", ask });
    }
    return entries;
  }

  /** Resolves to a string with the reason if it failed; to null if aborted. */
  async #asking(entries: readonly Entry[], signal: AbortSignal): Promise<Asking[] | string | null> {
    const { clock, least } = this.#options;
    const asks = entries.flatMap(({ ask }) => ("reason" in ask ? [] : [ask]));
    const wants: WantedReplicas[] = [];
    const [first] = asks;
    if (first !== undefined) {
      const problem = problemOf(
        asks.map(({ row }) => row),
        {
          zones: first.zones.names.length,
          rttMs: first.zones.rttMs,
          least: { replicas: Math.max(least.minNodes, least.minZones), zones: least.minZones },
        },
      );
      const solution = await this.#solver.solve(problem);
      if (solution === null || typeof solution === "string") return solution;
      wants.push(...wantsOf(problem, solution));
    }
    const asking: Asking[] = [];
    const slice = new Slice(clock);
    let at = 0;
    for (const { service, mode, ask } of entries) {
      await slice.turn();
      if (signal.aborted) return null;
      asking.push({ service, mode, frame: "reason" in ask ? ask : serviceFrame(ask, wants[at++]!) });
    }
    return withoutShared(asking);
  }

  #zones(): FrameZones | null {
    const graph = this.#options.graphs.cluster();
    if (graph === null) return null;
    const { names, rttMs } = clusterZones(graph, [...graph.nodes]);
    const table = names.map((from) => names.map((to) => (from === to ? 0 : (rttMs(from, to) ?? Number.NaN))));
    return {
      names,
      indexOf: new Map(names.map((name, at) => [name, at])),
      ofNode: new Map(graph.nodes.map(({ name, zone }) => [name, zone])),
      rttMs: (from, to) => table[from]![to]!,
    };
  }

  #knownOf(service: KubernetesObject): KnownService {
    const key = keyOf(service);
    let known = this.#known.get(key);
    if (known === undefined) {
      known = { rates: new Map<string, KnownRate>(), surplusSinceMs: new Map<string, number>() };
      this.#known.set(key, known);
    }
    return known;
  }

  #reportOf(services: Row[], trouble: string | null = null): ReplicaReport {
    const { clock, frameMs, changes: changesPerFrame, scaler } = this.#options;
    const frameAt = trouble === null ? new Date(clock.now()).toISOString() : null;
    return { frameAt, frameSeconds: frameMs / 1000, changesPerFrame, leads: scaler.leads, trouble, services };
  }

  #show(report: ReplicaReport): void {
    this.#report = report;
    this.#options.metrics.show(report.services);
  }
}

class Slice {
  readonly #clock: Clock;
  #beganMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beganMs = clock.monotonic();
  }

  async turn(): Promise<void> {
    if (this.#clock.monotonic() - this.#beganMs < SLICE_MS) return;
    await yielded();
    this.#beganMs = this.#clock.monotonic();
  }
}

/** Only Services that scale by what is wanted: proposals direct no pods. */
function wishesOf(asking: readonly Asking[]): Map<string, WorkloadWish> {
  const wishes = new Map<string, WorkloadWish>();
  for (const { mode, frame } of asking) {
    if ("reason" in frame || mode === "proposal" || mode === "none") continue;
    wishes.set(workloadKey(frame.workload), {
      wanted: new Map(frame.zones.map(({ zone, wanted }) => [zone, wanted])),
      there: thereOf(frame),
    });
  }
  return wishes;
}

function thereOf({ pods, zoneOf }: ServiceFrame): Map<string, Map<string, number>> {
  const there = new Map<string, Map<string, number>>();
  for (const pod of pods) {
    const [owner, zone] = [moveOwnerOf(pod)?.uid, zoneOf.get(pod.metadata.name)];
    if (owner === undefined || zone === undefined) continue;
    const counts = there.get(owner) ?? new Map<string, number>();
    there.set(owner, counts.set(zone, (counts.get(zone) ?? 0) + 1));
  }
  return there;
}

function rowOf({ service, mode, frame }: Asking, { state, refused, changes }: Outcome): Row {
  const { namespace = "default", name } = service.metadata;
  const head = { namespace, name, mode, state, refused, changes };
  if ("reason" in frame)
    return { ...head, workload: null, capacityPerSecond: null, replicas: null, wanted: null, zones: [] };
  const { workload, capacityPerSecond, pods, zones, unwanted } = frame;
  return {
    ...head,
    workload: { kind: workload.kind, name: workload.name },
    capacityPerSecond,
    replicas: pods.length,
    wanted: zones.reduce((sum, { wanted }) => sum + wanted, unwanted),
    zones: [...zones],
  };
}
