import type { KubernetesObject } from "@isochrone/kubernetes";

/** Alternates regions, each sorted by name, so that neighbours in the list are far apart. */
export function interleaveRegions(nodes: readonly KubernetesObject[]): KubernetesObject[] {
  const regions = new Map<string, KubernetesObject[]>();
  for (const node of [...nodes].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    const region = node.metadata.labels?.["topology.kubernetes.io/region"] ?? "";
    regions.set(region, [...(regions.get(region) ?? []), node]);
  }
  const queues = [...regions].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, queue]) => queue);
  const longest = Math.max(0, ...queues.map(({ length }) => length));
  return Array.from({ length: longest }, (_, turn) =>
    queues.flatMap((queue) => queue.slice(turn, turn + 1)),
  ).flat();
}
