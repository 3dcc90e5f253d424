import type {
  Channel,
  ClusterGraphSnapshot,
  ClusterNode,
  Link,
  Workload,
  WorkflowGraphSnapshot,
} from "../schema.ts";

export function node(name: string, fields: Partial<ClusterNode> = {}): ClusterNode {
  return {
    name,
    zone: null,
    region: null,
    segment: null,
    ready: true,
    cordoned: false,
    allocatableCpuMillicores: 4_000,
    allocatableMemoryBytes: 8e9,
    availableCpuMillicores: 2_000,
    availableMemoryBytes: 4e9,
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
    rttMs: { p50: costMs, p90: costMs, p99: null, mean: costMs, count: costMs === null ? 0 : 30 },
    lossRatio: 0,
    jitterMs: 0.1,
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
    costMs,
    errorMs: 0.05,
    origin: "measured",
    provisional: false,
    ageSeconds: 1,
    observedAt: "2026-01-01T00:00:00.000Z",
    ...fields,
  };
}

export function deadLink(source: string, target: string, fields: Partial<Link> = {}): Link {
  return link(source, target, null, { lossRatio: 1, ageSeconds: null, observedAt: null, ...fields });
}

export function clusterSnapshot(
  nodes: ClusterNode[],
  links: Link[],
  windowSeconds = 30,
): ClusterGraphSnapshot {
  return { version: 1, observedAt: "2026-01-01T00:00:00.000Z", windowSeconds, nodes, links };
}

export function workload(
  name: string,
  pods: Readonly<Record<string, string | null>>,
  fields: Partial<Workload> = {},
): Workload {
  return {
    name,
    kind: "Deployment",
    namespace: "shop",
    cpuMillicores: 100,
    memoryBytes: 1e8,
    pods: Object.entries(pods).map(([pod, on]) => ({ name: pod, node: on })),
    ...fields,
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

export function workflowSnapshot(workloads: Workload[], channels: Channel[]): WorkflowGraphSnapshot {
  return {
    version: 1,
    observedAt: "2026-01-01T00:00:00.000Z",
    namespace: "shop",
    name: "flow",
    workloads,
    channels,
  };
}
