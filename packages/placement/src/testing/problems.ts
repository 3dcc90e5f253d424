import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { Channel, ClusterNode, Link, Workload } from "@isochrone/topology";
import type { PlacementProblem } from "../scoring/problem.ts";

export function node(
  name: string,
  cpuMillicores: number | null,
  memoryBytes: number | null,
  fields: Partial<ClusterNode> = {},
): ClusterNode {
  return {
    name,
    zone: null,
    region: null,
    segment: null,
    ready: true,
    cordoned: false,
    allocatableCpuMillicores: 8_000,
    allocatableMemoryBytes: 8e9,
    availableCpuMillicores: cpuMillicores,
    availableMemoryBytes: memoryBytes,
    coordinate: null,
    usageAgeSeconds: 1,
    ...fields,
  };
}

export function link(
  source: string,
  target: string,
  costMs: number | null,
  fields: Partial<Link> = {},
): Link {
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
    ageSeconds: 1,
    observedAt: null,
    ...fields,
  };
}

export function links(...pairs: readonly (readonly [string, string, number])[]): Link[] {
  return pairs.flatMap(([a, b, costMs]) => [link(a, b, costMs), link(b, a, costMs)]);
}

export function workload(
  name: string,
  use: { cpu: number | null; memory: number | null },
  pods: Readonly<Record<string, string | null>>,
): Workload {
  return {
    name,
    kind: "Deployment",
    namespace: "shop",
    cpuMillicores: use.cpu,
    memoryBytes: use.memory,
    pods: Object.entries(pods).map(([pod, on]) => ({ name: pod, node: on })),
  };
}

export function channel(
  source: string,
  target: string,
  bytesPerSecond: number | null,
  fields: Partial<Channel> = {},
): Channel {
  return {
    source,
    target,
    bytesPerSecond,
    requestsPerSecond: null,
    errorRatio: null,
    priority: null,
    maxNetworkCost: null,
    minBandwidthBitsPerSecond: null,
    origin: "observed",
    ageSeconds: 1,
    ...fields,
  };
}

const AT = "2026-01-01T00:00:00.000Z";

/** Pod p-1 of workload p; all nodes are candidates unless `fields` override them. */
export function problem(
  nodes: ClusterNode[],
  between: Link[],
  workloads: Workload[],
  channels: Channel[],
  fields: Partial<PlacementProblem> = {},
): PlacementProblem {
  const cluster = new ClusterGraph({ version: 7, observedAt: AT, windowSeconds: 30, nodes, links: between });
  const workflow = new WorkflowGraph({
    version: 8,
    observedAt: AT,
    namespace: "shop",
    name: "flow",
    workloads,
    channels,
  });
  return {
    pod: { namespace: "shop", name: "p-1", workload: "p" },
    candidates: nodes.map(({ name }) => name),
    cluster: { graph: cluster, ageSeconds: 2 },
    workflow: { graph: workflow, ageSeconds: 3 },
    ...fields,
  };
}

/**
 * p uses 500 m and 200 MB; q runs on n2, r on n3; p sends q 1,000 B/s, r sends p 500 B/s. Costs: n1-n2 10 ms,
 * n1-n3 40 ms, n2-n3 25 ms.
 */
export function handWorked(
  fields: Partial<PlacementProblem> = {},
  channels: Channel[] = [channel("p", "q", 1_000), channel("r", "p", 500)],
): PlacementProblem {
  return problem(
    [node("n1", 2_000, 1e9), node("n2", 1_000, 6e8), node("n3", 500, 2e8)],
    links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 25]),
    [
      workload("p", { cpu: 500, memory: 2e8 }, { "p-1": null }),
      workload("q", { cpu: 1, memory: 1 }, { "q-1": "n2" }),
      workload("r", { cpu: 1, memory: 1 }, { "r-1": "n3" }),
    ],
    channels,
    fields,
  );
}
