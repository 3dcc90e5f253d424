import type { ClusterGraphSnapshot, ClusterNode, Link } from "@isochrone/topology";

/** A node without figures by default. */
export function clusterNode(name: string, more: Partial<ClusterNode> = {}): ClusterNode {
  return {
    name,
    zone: null,
    region: null,
    segment: null,
    ready: true,
    cordoned: false,
    allocatableCpuMillicores: null,
    allocatableMemoryBytes: null,
    availableCpuMillicores: null,
    availableMemoryBytes: null,
    coordinate: null,
    usageAgeSeconds: null,
    ...more,
  };
}

export function linkOf(
  source: string,
  target: string,
  costMs: number | null,
  more: Partial<Link> = {},
): Link {
  return {
    source,
    target,
    method: "udp_rr",
    ipFamily: 4,
    rttMs: { p50: costMs, p90: null, p99: null, mean: costMs, count: costMs === null ? 0 : 10 },
    lossRatio: 0,
    jitterMs: null,
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
    costMs,
    errorMs: null,
    origin: "measured",
    provisional: false,
    ageSeconds: 1,
    observedAt: null,
    ...more,
  };
}

export function snapshotOf(
  nodes: readonly (string | ClusterNode)[],
  links: readonly Link[],
): ClusterGraphSnapshot {
  return {
    version: 1,
    observedAt: "2026-01-01T00:00:00.000Z",
    windowSeconds: 30,
    nodes: nodes.map((node) => (typeof node === "string" ? clusterNode(node) : node)),
    links: [...links],
  };
}
