// The custom descheduler of Marchese 2023, section 3.4: "If there is at least one node with a higher score
// than that of the node where the Pod is currently executed, the descheduler evicts the Pod." The score is
// that of the scheduler's own function.
import type { PlacementProblem } from "../scoring/problem.ts";
import type { ScoreTable } from "../scoring/score-table.ts";
import type { Strategy } from "../scoring/strategy.ts";

/** A node as the scheduler's function sees it. */
interface NodeScore {
  readonly node: string;
  /** 0 to 100, as for a pod that waits. */
  readonly score: number;
  /** In the strategy's own unit. */
  readonly raw: number;
}

export interface PaperMove {
  readonly from: NodeScore;
  /**
   * What has the highest score now. Where the pod goes is left to the scheduler, which asks the same
   * function.
   */
  readonly to: NodeScore;
}

/**
 * Whether the paper's descheduler evicts the pod, which runs on `node`; null: it stays. A node that can't be
 * scored is neither left nor sought.
 *
 * @param problem its candidates: all nodes that would admit the pod, its own among them
 * @param strategy the scheduler's
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
