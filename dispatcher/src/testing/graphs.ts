import type { ClusterGraphSnapshot, ClusterNode } from "@isochrone/topology";

const NODE: Omit<ClusterNode, "name" | "zone"> = {
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
};

export function snapshotOf(
  zoneOf: Readonly<Record<string, string>>,
  betweenMs: number,
): ClusterGraphSnapshot {
  const names = [...new Set(Object.values(zoneOf))];
  const pairs = names.flatMap((from) =>
    names.flatMap((to) => (from === to ? [] : [{ from, to, cost: betweenMs }])),
  );
  return {
    version: 1,
    observedAt: "2026-01-01T00:00:00Z",
    windowSeconds: 60,
    nodes: Object.entries(zoneOf).map(([name, zone]) => ({ ...NODE, name, zone })),
    links: [],
    declaredCosts: { source: "test", unitMs: 1, zones: pairs, regions: [] },
  };
}
