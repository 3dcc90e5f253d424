// Graphs for tests: the example that packages/placement works by hand, and a source that holds them.
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraphSnapshot, ClusterNode, Link, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { GraphSource } from "../ports.ts";

const AT = "2026-01-01T00:00:00.000Z";

/** n1, n2 and n3, with 10, 40 and 25 ms between n1-n2, n1-n3 and n2-n3. */
export function clusterSnapshot(fields: Partial<ClusterNode> = {}): ClusterGraphSnapshot {
  const node = (name: string, cpu: number, memory: number): ClusterNode => ({
    name,
    zone: null,
    region: null,
    segment: null,
    ready: true,
    cordoned: false,
    allocatableCpuMillicores: 4_000,
    allocatableMemoryBytes: 8e9,
    availableCpuMillicores: cpu,
    availableMemoryBytes: memory,
    coordinate: null,
    usageAgeSeconds: 1,
    ...fields,
  });
  const link = (source: string, target: string, costMs: number): Link => ({
    source,
    target,
    method: "udp_rr",
    ipFamily: 4,
    rttMs: { p50: costMs, p90: costMs, p99: null, mean: costMs, count: 30 },
    lossRatio: 0,
    jitterMs: null,
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
    costMs,
    errorMs: null,
    origin: "measured",
    provisional: false,
    ageSeconds: 1,
    observedAt: AT,
  });
  const pairs = [
    ["n1", "n2", 10],
    ["n1", "n3", 40],
    ["n2", "n3", 25],
  ] as const;
  return {
    version: 1,
    observedAt: AT,
    windowSeconds: 30,
    nodes: [node("n1", 2_000, 1e9), node("n2", 1_000, 6e8), node("n3", 500, 2e8)],
    links: pairs.flatMap(([a, b, costMs]) => [link(a, b, costMs), link(b, a, costMs)]),
  };
}

/** p -> q 1,000 B/s and r -> p 500 B/s; p has no pod yet. `limit` is q's maxNetworkCost. */
export function workflowSnapshot(
  pods: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    q: { "q-1": "n2" },
    r: { "r-1": "n3" },
  },
  limit: number | null = null,
): WorkflowGraphSnapshot {
  const workload = (
    name: string,
    cpu: number,
    memory: number,
  ): WorkflowGraphSnapshot["workloads"][number] => ({
    name,
    kind: "Deployment",
    namespace: "shop",
    cpuMillicores: cpu,
    memoryBytes: memory,
    pods: Object.entries(pods[name] ?? {}).map(([pod, node]) => ({ name: pod, node })),
  });
  const channel = (
    source: string,
    target: string,
    bytes: number,
    cost: number | null,
  ): WorkflowGraphSnapshot["channels"][number] => ({
    source,
    target,
    bytesPerSecond: bytes,
    requestsPerSecond: null,
    errorRatio: null,
    priority: null,
    maxNetworkCost: cost,
    minBandwidthBitsPerSecond: null,
    origin: "observed",
    ageSeconds: 1,
  });
  return {
    version: 1,
    observedAt: AT,
    namespace: "shop",
    name: "flow",
    workloads: [workload("p", 500, 2e8), workload("q", 1, 1), workload("r", 1, 1)],
    channels: [channel("p", "q", 1_000, limit), channel("r", "p", 500, null)],
  };
}

/** A pod of a Deployment's ReplicaSet, as kube-scheduler sends it. */
export function podJson(name: string, workload: string): object {
  return {
    metadata: {
      name,
      namespace: "shop",
      labels: { "isochrone.dev/workflow": "flow", "pod-template-hash": "5d4f" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${workload}-5d4f`, uid: "u", controller: true },
      ],
    },
    spec: { containers: [{ name: "main" }] },
  };
}

/** Holds what a test gives it. */
export class MemoryGraphs implements GraphSource {
  #cluster: ClusterGraph | null = new ClusterGraph(clusterSnapshot());
  #workflow: WorkflowGraph | null = new WorkflowGraph(workflowSnapshot());

  setCluster(snapshot: ClusterGraphSnapshot): void {
    this.#cluster = new ClusterGraph(snapshot);
  }

  setWorkflow(snapshot: WorkflowGraphSnapshot): void {
    this.#workflow = new WorkflowGraph(snapshot);
  }

  clear(): void {
    this.#cluster = null;
    this.#workflow = null;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  cluster(): ClusterGraph | null {
    return this.#cluster;
  }

  workflow(namespace: string, name: string): WorkflowGraph | null {
    const workflow = this.#workflow;
    return workflow?.namespace === namespace && workflow.name === name ? workflow : null;
  }

  ready(): boolean {
    return this.#cluster !== null;
  }
}
