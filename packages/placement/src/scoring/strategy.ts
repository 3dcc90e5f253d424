import type { ColumnPool } from "./columns.ts";
import type { PlacementProblem } from "./problem.ts";
import type { ScoreTable } from "./score-table.ts";

/**
 * How the parts of a score are put together: the paper's own weighted sum, or after min-max normalisation of
 * each part.
 */
export const COMBINATION_MODES = ["normalized", "raw"] as const;
export type CombinationMode = (typeof COMBINATION_MODES)[number];

/** A way to score nodes for a pod. Implementations MUST be pure: equal problems give equal tables. */
export interface Strategy {
  readonly name: string;
  readonly mode: string;
  /**
   * With a pool, the table's columns are good until the pool is used again (`keptRows` copies what is to
   * outlive that); without one they are the table's own.
   */
  score(problem: PlacementProblem, pool?: ColumnPool): ScoreTable;
  /**
   * Candidates that the strategy's own rules reject, with the words to tell the user. They take the place of
   * the common limits (`nodesBeyondLimits`), which hold where a strategy has none of its own.
   */
  filter?(problem: PlacementProblem): ReadonlyMap<string, string>;
}
