// The NetworkAware plugin of Algorithm 1 [1], lines 2 to 10: minus the sum of cost x traffic over the placed pods that the pod talks to.
// [1] Orchestrating DAG workflows on the Cloud-to-Edge continuum, section 3.3.
import { bounded } from "./columns.ts";
import type { ColumnPool } from "./columns.ts";
import { neighboursOf } from "./neighbours.ts";
import type { Neighbours } from "./neighbours.ts";
import type { PlacementProblem } from "./problem.ts";
import type { ClusterGraph } from "@isochrone/topology";

/** One part of a score: a column, or why there is none; and what should be said of it. */
export type PartColumn =
  | { readonly column: Float64Array; readonly remarks: readonly string[] }
  | { readonly column: null; readonly reason: string };

/**
 * Milliseconds x bytes per second, negative or 0: more is better. An unknown cost counts as the median known one. An unreachable
 * pair counts as the worst known one: it was probed and nobody answered, and as an average link it would draw pods to a dead end.
 */
export function networkPart(problem: PlacementProblem, ids: Int32Array, pool: ColumnPool): PartColumn {
  const { pod, cluster, workflow } = problem;
  if (cluster.graph === null) return { column: null, reason: cluster.reason };
  if (pod.workload === null) return { column: null, reason: "the pod belongs to no workflow" };
  if (workflow.graph === null) return { column: null, reason: workflow.reason };
  const neighbours = neighboursOf(pod, cluster.graph, workflow.graph, problem.assumed ?? []);
  const quiet = quietReason(neighbours);
  if (quiet !== null) return { column: null, reason: quiet };
  const unknownMs = cluster.graph.medianKnownCost();
  const unreachableMs = cluster.graph.worstKnownCost();
  if (unknownMs === null || unreachableMs === null)
    return { column: null, reason: "no network cost is known" };
  const sums = sumCosts(cluster.graph, neighbours, ids, { unknownMs, unreachableMs }, pool);
  addElsewhere(sums.column, neighbours, problem.candidates, unknownMs);
  for (let row = 0; row < sums.column.length; row++) sums.column[row] = 0 - bounded(sums.column[row]!);
  return {
    column: sums.column,
    remarks: remarks(neighbours, sums, unknownMs, unreachableMs),
  };
}

interface CostSums {
  readonly column: Float64Array;
  readonly unknown: number;
  readonly unreachable: number;
}

/** One plain pass per neighbour: it comes out finite for every row whose costs are all known, which is the rule. The rest is redone. */
function sumCosts(
  graph: ClusterGraph,
  neighbours: Neighbours,
  ids: Int32Array,
  { unknownMs, unreachableMs }: { readonly unknownMs: number; readonly unreachableMs: number },
  pool: ColumnPool,
): CostSums {
  const column = pool.take();
  for (let index = 0; index < neighbours.node.length; index++) {
    const bytesPerSecond = neighbours.bytesPerSecond[index]!;
    const costs = graph.costsTo(neighbours.node[index]!);
    for (let row = 0; row < ids.length; row++)
      column[row]! += costs[Math.max(0, ids[row]!)]! * bytesPerSecond;
  }
  let unknown = 0;
  let unreachable = 0;
  for (let row = 0; row < ids.length; row++) {
    if (ids[row]! >= 0 && Number.isFinite(column[row]!)) continue;
    column[row] = 0;
    for (let index = 0; index < neighbours.node.length; index++) {
      const cost = ids[row]! < 0 ? Number.NaN : graph.costsTo(neighbours.node[index]!)[ids[row]!]!;
      if (Number.isNaN(cost)) unknown++;
      else if (cost === Infinity) unreachable++;
      const ms = Number.isNaN(cost) ? unknownMs : cost === Infinity ? unreachableMs : cost;
      column[row]! += ms * neighbours.bytesPerSecond[index]!;
    }
  }
  return { column, unknown, unreachable };
}

/** A pod on a node that the graph doesn't know: free for that very node, unknown for all others. */
function addElsewhere(
  column: Float64Array,
  { elsewhere }: Neighbours,
  names: readonly string[],
  unknownMs: number,
): void {
  for (const [node, bytesPerSecond] of elsewhere) {
    for (let row = 0; row < column.length; row++) {
      if (names[row] !== node) column[row]! += unknownMs * bytesPerSecond;
    }
  }
}

function quietReason(neighbours: Neighbours): string | null {
  if (neighbours.node.length > 0 || neighbours.elsewhere.size > 0) return null;
  if (neighbours.channelsWithTraffic + neighbours.channelsWithoutTraffic === 0)
    return "its workload has no channel";
  if (neighbours.channelsWithTraffic === 0) return "the traffic of its workload's channels is not known";
  return "none of the pods it talks to is placed, or there is no traffic";
}

function remarks(neighbours: Neighbours, sums: CostSums, unknownMs: number, unreachableMs: number): string[] {
  const said: string[] = [];
  if (sums.unknown > 0)
    said.push(
      `${sums.unknown} network costs were unknown and counted as the median known cost, ${fixed(unknownMs)} ms`,
    );
  if (sums.unreachable > 0) {
    said.push(
      `${sums.unreachable} node pairs were unreachable and counted as the worst known cost, ${fixed(unreachableMs)} ms`,
    );
  }
  if (neighbours.channelsWithoutTraffic > 0) {
    said.push(`${neighbours.channelsWithoutTraffic} channels of unknown traffic counted for nothing`);
  }
  return said;
}

function fixed(ms: number): string {
  return ms.toFixed(3);
}
