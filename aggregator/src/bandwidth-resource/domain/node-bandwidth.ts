import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { testedBitsPerSecond } from "../../network-topology/domain/area-capacity.ts";

/** Highest burst per node, sent or received, bit/s. A lower bound of its network's capacity. */
export function bestBursts(graph: ClusterGraphSnapshot): Map<string, number> {
  const best = new Map<string, number>();
  for (const link of graph.links) {
    const tested = testedBitsPerSecond(link);
    if (tested === null || !(tested > 0)) continue;
    for (const node of [link.source, link.target]) best.set(node, Math.max(best.get(node) ?? 0, tested));
  }
  return best;
}
