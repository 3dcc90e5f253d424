// Orchestration frame over many Services, for benchmarks: inputs are in memory, nothing is written.
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { links, node } from "@isochrone/placement/testing";
import { createRegistry, systemClock, type Clock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { ClusterGraph, type Demand, type ReplicaReport, type ZoneDemand } from "@isochrone/topology";
import { DemandReader } from "../dispatch/demand-reader.ts";
import { FrameSolver } from "../dispatch/replicas/frame-solver.ts";
import { ReplicaFrames } from "../dispatch/replicas/frames.ts";
import { createReplicaMetrics } from "../dispatch/replicas/metrics.ts";
import { ReplicaScaler } from "../dispatch/replicas/scaler.ts";
import { ZoneWishes } from "../dispatch/replicas/zone-wishes.ts";

interface ReplicaLoadShape {
  readonly services: number;
  readonly zones: number;
  readonly nodesPerZone: number;
  /** Requests/s by service and zone; a replica serves 100. */
  readonly rate: (service: number, zone: number) => number;
  readonly solver?: FrameSolver;
}

const LEAST = { minNodes: 2, minZones: 2 };
const NAMESPACE = "shop";
const HOUR_MS = 3_600_000;
const POLL_MS = 2;

export class ReplicaLoad {
  readonly #frames: ReplicaFrames;
  #isStarted = false;
  #isStopped = false;
  #next: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor(load: ReplicaLoadShape) {
    const { services, zones, nodesPerZone } = load;
    const nodes = Array.from({ length: zones * nodesPerZone }, (_, at) =>
      node(`n${at}`, null, null, { zone: `zone-${at % zones}`, allocatableCpuMillicores: 1e6 }),
    );
    const pairs = Array.from({ length: zones }, (_, from) =>
      Array.from({ length: from }, (__, to) => [`n${from}`, `n${to}`, 1 + from - to] as const),
    );
    const graph = new ClusterGraph({
      version: 1,
      observedAt: new Date(systemClock.now()).toISOString(),
      windowSeconds: 300,
      nodes,
      links: links(...pairs.flat()),
    });
    const names = Array.from({ length: services }, (_, at) => `svc-${at}`);
    const pods = names.flatMap((name) => Array.from({ length: zones }, (_, zone) => podOf(name, zone)));
    const slices = new Map(names.map((name) => [name, [sliceOf(name, zones)]]));
    const all = names.map(serviceOf);
    const demand = demandOf(names, load);
    const logger = new MemoryLogger();
    const metrics = createReplicaMetrics(createRegistry());
    const clock: Clock = {
      now: () => systemClock.now(),
      monotonic: () => systemClock.monotonic(),
      sleep: (_ms, signal) => Promise.race([this.#next.promise, aborted(signal)]),
    };
    const scaler = new ReplicaScaler({
      ...LEAST,
      clock,
      logger,
      store: createMemoryStore({ clock }),
      leads: () => false,
      autoscalers: null,
      mayMark: false,
      changes: 10,
      coolDownMs: 0,
      events: {
        event: () => undefined,
        counts: () => ({ reported: 0, writes: 0, dropped: 0 }),
        stop: async () => undefined,
      },
      metrics,
    });
    this.#frames = new ReplicaFrames({
      clock,
      logger,
      follower: { isSynced: true, services: () => all, slices: (_, name) => slices.get(name)! },
      demand: new DemandReader(async () => demand, systemClock),
      graphs: { cluster: () => graph },
      pods: { isSynced: true, items: () => pods },
      images: { hasAll: () => true, sizeMb: () => null },
      scaler,
      wishes: new ZoneWishes(),
      metrics,
      frameMs: HOUR_MS,
      changes: 10,
      surplusMs: HOUR_MS,
      least: LEAST,
      solver: load.solver ?? new FrameSolver({ clock: systemClock }),
    });
  }

  /** The first frame also starts its thread. */
  async frame(): Promise<ReplicaReport> {
    const before = this.#frames.report();
    if (this.#isStarted) this.#go();
    else await this.#frames.start();
    this.#isStarted = true;
    for (;;) {
      await systemClock.sleep(POLL_MS);
      if (this.#isStopped) throw new Error("no frame is worked out any more");
      const report = this.#frames.report();
      if (report.services !== before.services) return report;
    }
  }

  async stop(): Promise<void> {
    await this.#frames.stop();
    this.#isStopped = true;
  }

  #go(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) =>
    signal?.addEventListener("abort", () => reject(new Error("stopped")), { once: true }),
  );
}

function serviceOf(name: string): KubernetesObject {
  return {
    ...KINDS.service,
    metadata: {
      namespace: NAMESPACE,
      name,
      annotations: { "isochrone.dev/replicas": "scale", "isochrone.dev/capacity": "100" },
    },
  };
}

function podOf(name: string, zone: number): KubernetesObject {
  return {
    ...KINDS.pod,
    metadata: {
      namespace: NAMESPACE,
      name: `${name}-1-${zone}`,
      labels: { "pod-template-hash": "1" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${name}-1`, uid: name, controller: true },
      ],
    },
    spec: {
      nodeName: `n${zone}`,
      containers: [{ name: "main", image: name, resources: { requests: { cpu: "100m", memory: "128Mi" } } }],
    },
    status: { phase: "Running" },
  };
}

function sliceOf(name: string, zones: number): KubernetesObject {
  const endpoints = Array.from({ length: zones }, (_, zone) => ({
    addresses: [`10.0.0.${zone}`],
    zone: `zone-${zone}`,
    targetRef: { kind: "Pod", name: `${name}-1-${zone}` },
  }));
  return { ...KINDS.endpointSlice, metadata: { namespace: NAMESPACE, name: `${name}-1` }, endpoints };
}

function demandOf(names: readonly string[], { zones, rate }: ReplicaLoadShape): Demand {
  const services = names.map((name, service) => ({
    namespace: NAMESPACE,
    name,
    deadlineMs: null,
    zones: Array.from({ length: zones }, (_, zone): ZoneDemand => ({
      zone: `zone-${zone}`,
      requestsPerSecond: rate(service, zone),
      errorRatio: 0,
      inTimeRatio: null,
      latencyMs: { p50: 5, p90: 9, p99: 12 },
      ageSeconds: 1,
    })),
  }));
  return { version: 1, observedAt: "2026-01-01T00:00:00.000Z", windowSeconds: 300, services };
}
