import type { ClusterGraphSnapshot, Link } from "@isochrone/topology";
import type { AreaIndex } from "./areas.ts";

/**
 * The best burst between two of their nodes (a lower bound), else the largest capacity that two of their
 * nodes declare. Bit/s by area pair. Directions are independent.
 */
export function areaCapacities(graph: ClusterGraphSnapshot, areas: AreaIndex): Map<string, number> {
  const measured = new Map<string, number>();
  const declared = new Map<string, number>();
  for (const link of graph.links) {
    const tested = testedBitsPerSecond(link);
    const stated = link.bandwidthCapacityOrigin === "declared" ? link.bandwidthBitsPerSecond.capacity : null;
    if (tested === null && stated === null) continue;
    for (const key of areas.keysBetween(link.source, link.target)) {
      raise(measured, key, tested);
      raise(declared, key, stated);
    }
  }
  return new Map([...declared, ...measured]);
}

export function testedBitsPerSecond({
  bandwidthBitsPerSecond,
  bandwidthCapacityOrigin,
}: Link): number | null {
  const { achieved } = bandwidthBitsPerSecond;
  const best = bandwidthCapacityOrigin === "measured" ? bandwidthBitsPerSecond.capacity : null;
  return achieved === null ? best : Math.max(achieved, best ?? 0);
}

function raise(most: Map<string, number>, key: string, bitsPerSecond: number | null): void {
  if (bitsPerSecond === null || !(bitsPerSecond > 0)) return;
  most.set(key, Math.max(most.get(key) ?? 0, bitsPerSecond));
}
