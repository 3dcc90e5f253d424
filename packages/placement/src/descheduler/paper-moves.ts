// The custom descheduler of Marchese 2023, section 3.4: it evicts a pod if another node has a higher score in
// the scheduler's own function than the pod's node.
import type { PlacementProblem } from "../scoring/problem.ts";
import type { ScoreTable } from "../scoring/score-table.ts";
import type { Strategy } from "../scoring/strategy.ts";

interface NodeScore {
  readonly node: string;
  readonly score: number;
  readonly raw: number;
}

export interface PaperMove {
  readonly from: NodeScore;
  /** The highest-scoring node. The scheduler chooses the actual target, with the same function. */
  readonly to: NodeScore;
}

/**
 * Returns null if the pod stays on `node`. Ignores nodes that can't be scored.
 * @param problem with all nodes that would admit the pod as candidates
 */
export function paperMove(problem: PlacementProblem, node: string, strategy: Strategy): PaperMove | null {
  const table = strategy.score(problem);
  const own = table.names.indexOf(node);
  if (own < 0 || Number.isNaN(table.raw[own]!)) return null;
  let best = own;
  for (const row of table.names.keys())
    if (!Number.isNaN(table.raw[row]!) && table.score[row]! > table.score[best]!) best = row;
  return best === own ? null : { from: scoreAt(table, own), to: scoreAt(table, best) };
}

function scoreAt({ names, score, raw }: ScoreTable, row: number): NodeScore {
  return { node: names[row]!, score: score[row]!, raw: raw[row]! };
}
