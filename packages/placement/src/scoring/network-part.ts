// NetworkAware plugin of Algorithm 1, lines 2 to 10 (Marchese 2023, section 3.3).
import { trafficRemarks } from "./channel-traffic.ts";
import type { RequestValuation } from "./channel-traffic.ts";
import { bounded } from "./columns.ts";
import type { ColumnPool } from "./columns.ts";
import { ownReplicas } from "./neighbours.ts";
import type { NetworkVector, NetworkVectors } from "./network-vector.ts";
import type { PlacementProblem } from "./problem.ts";

/** A column, or the reason for its absence, with remarks for the explanation. */
export type PartColumn =
  | {
      readonly column: Float64Array;
      readonly remarks: Remarks;
      readonly byRequests?: RequestValuation | null;
    }
  | { readonly column: null; readonly reason: string };

/** Outlives its scoring: MUST retain only a few numbers and names, no column and no graph. */
export type Remarks = () => readonly string[];

/** The part in milliseconds x bytes per second, at most 0: more is better. */
export function networkPart(
  problem: PlacementProblem,
  ids: Int32Array,
  pool: ColumnPool,
  vectors: NetworkVectors,
): PartColumn {
  const { pod, cluster, workflow } = problem;
  if (cluster.graph === null) return { column: null, reason: cluster.reason };
  const { workload } = pod;
  if (workload === null) return { column: null, reason: "the pod belongs to no workflow" };
  if (workflow.graph === null) return { column: null, reason: workflow.reason };
  const assumed = problem.assumed ?? [];
  const figures = vectors.of({ ...pod, workload }, cluster.graph, workflow.graph, assumed);
  if (figures.vector === null) return { column: null, reason: figures.reason };
  const { vector } = figures;
  const column = pool.take();
  const share = 1 / ownReplicas(pod, workflow.graph, assumed);
  const { byId, stranger, called } = vector;
  let strangers = 0;
  for (let row = 0; row < ids.length; row++) {
    const id = ids[row]!;
    if (id < 0) strangers++;
    column[row] = 0 - bounded((id < 0 ? stranger : byId[id]!) * share);
  }
  if (vector.free.size > 0) freeNamesakes(column, vector, problem.candidates, ids, share);
  if (called !== null) payForCallers(column, called, ids);
  return {
    column,
    remarks: remarks(countGaps(vector, ids, strangers), vector),
    byRequests: vector.traffic.byRequests,
  };
}

function payForCallers(
  column: Float64Array,
  { byId, stranger }: NonNullable<NetworkVector["called"]>,
  ids: Int32Array,
): void {
  for (let row = 0; row < ids.length; row++) {
    const id = ids[row]!;
    column[row] = bounded(column[row]! - (id < 0 ? stranger : byId[id]!));
  }
}

/** A peer on a node that the graph lacks is free on that very node, and unknown elsewhere. */
function freeNamesakes(
  column: Float64Array,
  { stranger, free }: NetworkVector,
  names: readonly string[],
  ids: Int32Array,
  share: number,
): void {
  for (let row = 0; row < ids.length; row++) {
    const amount = ids[row]! < 0 ? free.get(names[row]!) : undefined;
    if (amount !== undefined) column[row] = 0 - bounded(Math.max(0, stranger - amount) * share);
  }
}

interface Gaps {
  unknown: number;
  unreachable: number;
}

function countGaps({ gaps, peerNodes }: NetworkVector, ids: Int32Array, strangers: number): Gaps {
  const sum = { unknown: strangers * peerNodes, unreachable: 0 };
  if (gaps === null) return sum;
  for (let row = 0; row < ids.length; row++) {
    const id = ids[row]!;
    if (id < 0) continue;
    sum.unknown += gaps.unknown[id]!;
    sum.unreachable += gaps.unreachable[id]!;
  }
  return sum;
}

function remarks(gaps: Gaps, vector: NetworkVector): Remarks {
  const { traffic, unknownMs, unreachableMs, lackMillicores } = vector;
  return remarksOf({ ...gaps, traffic, unknownMs, unreachableMs, lackMillicores });
}

type Kept = Gaps & Pick<NetworkVector, "traffic" | "unknownMs" | "unreachableMs" | "lackMillicores">;

function remarksOf(kept: Kept): Remarks {
  return () => {
    const said: string[] = [];
    if (kept.unknown > 0)
      said.push(
        `${kept.unknown} network costs were unknown and counted as the median known cost, ${fixed(kept.unknownMs)} ms`,
      );
    if (kept.unreachable > 0) {
      said.push(
        `${kept.unreachable} node pairs were unreachable and counted as the worst known cost, ${fixed(kept.unreachableMs)} ms`,
      );
    }
    if (kept.lackMillicores >= 1) {
      said.push(
        `zones ask its workload's replicas for ${Math.round(kept.lackMillicores)} millicores more than these may use, and nodes where it takes over most of that cost least`,
      );
    }
    return [...said, ...trafficRemarks(kept.traffic)];
  };
}

function fixed(ms: number): string {
  return ms.toFixed(3);
}
