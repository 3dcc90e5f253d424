import type { PlacementProblem } from "./problem.ts";
import type { ScoreTable } from "./score-table.ts";

/** How the parts of a score are put together: the paper's own weighted sum, or after min-max normalisation of each part. */
export const COMBINATION_MODES = ["normalized", "raw"] as const;
export type CombinationMode = (typeof COMBINATION_MODES)[number];

/** A way to score nodes for a pod. Implementations MUST be pure: equal problems give equal tables. */
export interface Strategy {
  readonly name: string;
  readonly mode: CombinationMode;
  score(problem: PlacementProblem): ScoreTable;
}
