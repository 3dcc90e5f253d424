import { gainError } from "../planner/search/gain-noise.ts";
import type { PlanState } from "../planner/search/plan-state.ts";
import type { PodMove } from "./proposal.ts";

/**
 * Returns the error of the gain, bytes per second x milliseconds. Infinity: a link is provisional or of
 * unknown cost.
 */
export function gainErrorOf(state: PlanState, moves: readonly PodMove[]): number {
  const after = state.assignment.slice();
  for (const { pod, node } of moves) after[pod] = node;
  return gainError(
    state,
    moves.map(({ pod }) => pod),
    state.assignment,
    after,
  );
}
