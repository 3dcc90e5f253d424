import { seededRandom } from "@isochrone/runtime";
import type { GraphSource } from "@isochrone/scheduler-plugin/testing";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraphSnapshot, ClusterNode, Link, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { ControlPlane } from "../../../harness/control-plane/index.ts";

export const NAMESPACE = "shop";
const REGIONS = 4;
const ZONES_PER_REGION = 3;
const PEERS = 10;

/** Callers before callees. */
const WORKLOADS = ["web", "api", "cart", "cache", "db"] as const;
const CHANNELS = [
  ["web", "api", 200_000],
  ["api", "cart", 50_000],
  ["api", "cache", 400_000],
  ["cart", "db", 100_000],
  ["api", "db", 80_000],
] as const;
const REPLICAS = 4;
export const PODS_PER_WORKFLOW = WORKLOADS.length * REPLICAS;

export const regionOf = (index: number): string => `r${index % REGIONS}`;
export const zoneOf = (index: number): string =>
  `${regionOf(index)}-z${Math.floor(index / REGIONS) % ZONES_PER_REGION}`;

/** Like an aggregator's graphs: few measured pairs per node, others estimated by zone and region. */
export class BenchGraphs implements GraphSource {
  readonly #snapshot: ClusterGraphSnapshot;
  readonly #cluster: ClusterGraph;
  readonly #workflows: readonly WorkflowGraph[];
  readonly #shown = new Map<string, WorkflowGraph>();

  /** Shows no workflow at first. */
  constructor(nodes: readonly string[], workflows: number) {
    this.#snapshot = snapshotOf(nodes);
    this.#cluster = new ClusterGraph(this.#snapshot);
    this.#cluster.prepare();
    this.#workflows = Array.from(
      { length: workflows },
      (_, index) => new WorkflowGraph(workflowOf(`wf-${index}`)),
    );
  }

  /** Shows this number of workflows from now on. */
  show(workflows: number): void {
    for (const graph of this.#workflows.slice(0, workflows))
      this.#shown.set(`${NAMESPACE}/${graph.name}`, graph);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  cluster(): ClusterGraph {
    return this.#cluster;
  }

  clusterSnapshot(): ClusterGraphSnapshot {
    return this.#snapshot;
  }

  workflow(namespace: string, name: string): WorkflowGraph | null {
    return this.#shown.get(`${namespace}/${name}`) ?? null;
  }

  ready(): boolean {
    return true;
  }
}

let runs = 0;

interface Replicas {
  readonly from: number;
  readonly to: number;
}
const ALL: Replicas = { from: 0, to: REPLICAS };
/** Replicas of a running workflow, and those it grows by. */
export const FIRST: Replicas = { from: 0, to: 1 };
export const SECOND: Replicas = { from: 1, to: 2 };
export const OTHERS: Replicas = { from: 2, to: REPLICAS };
export const FIRST_PER_WORKFLOW = WORKLOADS.length;

/** Names are unique per run, because KWOK may still delete pods of the previous run by name. */
export async function createWorkflows(
  cluster: ControlPlane,
  workflows: number,
  gates: readonly string[],
  replicas: Replicas = ALL,
): Promise<string[]> {
  const run = ++runs;
  const pods = Array.from({ length: workflows }, (_, index) =>
    podsOf(`wf-${index}`, gates, run).filter(
      (_pod, at) => at % REPLICAS >= replicas.from && at % REPLICAS < replicas.to,
    ),
  ).flat();
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < pods.length) {
      const pod = pods[next++]!;
      await cluster.request("POST", `/api/v1/namespaces/${NAMESPACE}/pods`, pod);
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return pods.map(({ metadata }) => metadata.name);
}

export function podsOf(
  workflow: string,
  gates: readonly string[],
  run: number,
): (object & { readonly metadata: { readonly name: string } })[] {
  return WORKLOADS.flatMap((workload) =>
    Array.from({ length: REPLICAS }, (_, replica) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: `${workflow}-${workload}-${replica}-${run}`,
        namespace: NAMESPACE,
        labels: { app: workload, "isochrone.dev/workflow": workflow, "pod-template-hash": "5d4f" },
        // No controller-manager would notice the missing owner.
        ownerReferences: [
          {
            apiVersion: "apps/v1",
            kind: "ReplicaSet",
            name: `${workflow}-${workload}-5d4f`,
            uid: `${workflow}-${workload}`,
            controller: true,
          },
        ],
      },
      spec: {
        terminationGracePeriodSeconds: 0,
        schedulingGates: gates.map((name) => ({ name })),
        containers: [{ name: "main", image: "none", resources: { requests: { cpu: "10m", memory: "8Mi" } } }],
      },
    })),
  );
}

function snapshotOf(names: readonly string[]): ClusterGraphSnapshot {
  const observedAt = new Date().toISOString();
  const random = seededRandom(7);
  const nodes = names.map((name, index): ClusterNode => {
    return {
      name,
      zone: zoneOf(index),
      region: regionOf(index),
      segment: null,
      ready: true,
      cordoned: false,
      allocatableCpuMillicores: 32_000,
      allocatableMemoryBytes: 256e9,
      availableCpuMillicores: null,
      availableMemoryBytes: null,
      coordinate: null,
      usageAgeSeconds: 0,
    };
  });
  const links = names.flatMap((source, a) =>
    Array.from({ length: PEERS }, () => Math.floor(random.next() * names.length))
      .filter((b) => b !== a)
      .map((b) => linkOf(source, names[b]!, msBetween(a, b) * (0.9 + 0.2 * random.next()), observedAt)),
  );
  // Runs of a minute must not outlive the graphs.
  return { version: 1, observedAt, windowSeconds: 3_600, nodes, links };
}

function msBetween(a: number, b: number): number {
  if (regionOf(a) !== regionOf(b)) return 60;
  return zoneOf(a) === zoneOf(b) ? 0.5 : 3;
}

export function linkOf(source: string, target: string, costMs: number, observedAt: string): Link {
  return {
    source,
    target,
    method: "udp_rr",
    ipFamily: 4,
    rttMs: { p50: costMs, p90: costMs, p99: null, mean: costMs, count: 30 },
    lossRatio: 0,
    jitterMs: null,
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
    costMs,
    errorMs: 0,
    origin: "measured",
    provisional: false,
    ageSeconds: 0,
    observedAt,
  };
}

function workflowOf(name: string): WorkflowGraphSnapshot {
  return {
    version: 1,
    observedAt: new Date().toISOString(),
    namespace: NAMESPACE,
    name,
    workloads: WORKLOADS.map((workload) => ({
      name: workload,
      kind: "Deployment",
      namespace: NAMESPACE,
      cpuMillicores: null,
      memoryBytes: null,
      pods: [],
    })),
    channels: CHANNELS.map(([source, target, bytesPerSecond]) => ({
      source,
      target,
      bytesPerSecond,
      requestsPerSecond: null,
      errorRatio: null,
      priority: null,
      maxNetworkCost: null,
      minBandwidthBitsPerSecond: null,
      origin: "observed",
      ageSeconds: 0,
    })),
  };
}
