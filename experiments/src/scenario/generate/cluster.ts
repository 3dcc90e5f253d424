import type { Random } from "@isochrone/runtime";
import type { PointCluster, PointNode } from "../model.ts";

interface ClusterStatistics {
  readonly nodes: number;
  readonly regions: number;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  /** Mean round trip within a region. */
  readonly withinMs: number;
  /** Round trip across the whole map, the maximum between regions. */
  readonly betweenMs: number;
}

/** Minimum distance of two regions, as a share of the map's diagonal. */
const LEAST_DISTANCE = 0.1;
const DIAGONAL = Math.SQRT2;

/** Random places on a square map. Round trips grow with distance, plus the time within regions. */
export function generateCluster(statistics: ClusterStatistics, random: Random): PointCluster {
  const { withinMs, betweenMs } = statistics;
  const places = Array.from({ length: statistics.regions }, () => [random.next(), random.next()] as const);
  const nodes = Array.from({ length: statistics.nodes }, (_, index): PointNode => {
    const region = `region-${1 + (index % statistics.regions)}`;
    return {
      name: `node-${index + 1}`,
      zone: `${region}-a`,
      region,
      cpuMillicores: statistics.cpuMillicores,
      memoryBytes: statistics.memoryBytes,
    };
  });
  const regionOf = (index: number): readonly [number, number] => places[index % statistics.regions]!;
  const rttMs = nodes.map(() => nodes.map(() => 0));
  for (const a of nodes.keys())
    for (let b = a + 1; b < nodes.length; b += 1) {
      const [from, to] = [regionOf(a), regionOf(b)];
      const distance = Math.hypot(from[0] - to[0], from[1] - to[1]) / DIAGONAL;
      const between = from === to ? 0 : Math.max(LEAST_DISTANCE, distance) * betweenMs;
      // 0.5 to 1.5 times the mean: rooms, racks and queues differ.
      const value = between + withinMs * (0.5 + random.next());
      rttMs[a]![b] = round(value);
      rttMs[b]![a] = round(value);
    }
  return { nodes, rttMs };
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
