import { gainError } from "../planner/search/gain-noise.ts";
import type { PlanState } from "../planner/search/plan-state.ts";
import type { PodMove } from "./proposal.ts";

/**
 * How far the gain of these moves may be from the truth, because links and rates are measured with an error.
 * Bytes per second x milliseconds; infinite where one of the links is provisional or its cost unknown.
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
