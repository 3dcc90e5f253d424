import type { ColumnPool } from "./columns.ts";
import type { PlacementProblem } from "./problem.ts";
import type { ScoreTable } from "./score-table.ts";

/** `raw`: the paper's weighted sum. `normalized`: min-max normalises each part first. */
export const COMBINATION_MODES = ["normalized", "raw"] as const;
export type CombinationMode = (typeof COMBINATION_MODES)[number];

/** Scores nodes for a pod. Implementations MUST be pure: equal problems give equal tables. */
export interface Strategy {
  readonly name: string;
  readonly mode: string;
  /**
   * With a pool, columns are valid until its next use (`keptRows` copies them); otherwise the table owns
   * them.
   */
  score(problem: PlacementProblem, pool?: ColumnPool): ScoreTable;
  /** Rejected candidates with the reason. Replaces the common limits (`nodesBeyondLimits`). */
  filter?(problem: PlacementProblem): ReadonlyMap<string, string>;
}
