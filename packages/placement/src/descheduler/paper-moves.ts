// The custom descheduler of [1], section 3.4, as it is written: a pod for which some node has a higher score than its own is evicted, at
// most one of a Deployment's replicas per run. To compare with.
// [1] Orchestrating DAG workflows on the Cloud-to-Edge continuum.
import type { Strategy } from "../strategy.ts";
import type { PlacementProblem } from "../problem.ts";

export interface PaperPod {
  readonly uid: string;
  readonly owner: string;
  readonly node: string;
  /** Its candidates: all nodes that would admit it, its own among them. */
  readonly problem: PlacementProblem;
}

export interface PaperMove {
  readonly uid: string;
  readonly from: string;
  /** What has the highest score now. The paper leaves the choice to the scheduler, which asks the same function. */
  readonly to: string;
  /** Both in the strategy's own unit. */
  readonly score: number;
  readonly best: number;
}

/** @param strategy Algorithm 1, raw */
export function paperMoves(pods: readonly PaperPod[], strategy: Strategy): PaperMove[] {
  const moves: PaperMove[] = [];
  const owners = new Set<string>();
  for (const { uid, owner, node, problem } of pods) {
    if (owners.has(owner)) continue;
    const { names, raw } = strategy.score(problem);
    const score = raw[names.indexOf(node)] ?? Number.NaN;
    let to = -1;
    for (const row of names.keys()) if (raw[row]! > (to < 0 ? score : raw[to]!)) to = row;
    if (to < 0) continue;
    owners.add(owner);
    moves.push({ uid, from: node, to: names[to]!, score, best: raw[to]! });
  }
  return moves;
}
