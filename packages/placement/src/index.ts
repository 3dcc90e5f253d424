export { ColumnPool } from "./columns.ts";
export { PLACEMENT_ERROR_CODES, PlacementError } from "./errors.ts";
export type { PlacementErrorCode } from "./errors.ts";
export type { Explanation, InputAges, NeutralPart } from "./explanation.ts";
export { networkLimitViolations } from "./network-limits.ts";
export type {
  AmountsByNode,
  AssumedPod,
  GraphInput,
  PlacementProblem,
  PodToPlace,
  ResourceAmounts,
} from "./problem.ts";
export { createStrategy, STRATEGIES } from "./profile.ts";
export type { StrategyName, StrategyProfile } from "./profile.ts";
export { parseQuantity } from "./quantity.ts";
export { DEFAULT_WEIGHTS, RESOURCE_NETWORK, ResourceNetwork } from "./resource-network.ts";
export type { ResourceNetworkWeights } from "./resource-network.ts";
export {
  allCandidates,
  bestRow,
  candidateAt,
  keptRows,
  NEUTRAL_SCORE,
  RANKED_ROWS,
  rankedTable,
} from "./score-table.ts";
export type { ScoreTable } from "./score-table.ts";
export { COMBINATION_MODES } from "./strategy.ts";
export type { CombinationMode, Strategy } from "./strategy.ts";
