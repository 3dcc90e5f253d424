// What a move of a pod that runs must bring: one rule for the plans that people are shown and for what the descheduler plans anew.

/** Both parts hold. */
export interface MovePriceRules {
  /** Bytes/s x ms. */
  readonly minGain: number;
  /** As a share of what all channels of the workflow cost now. */
  readonly minWorkflowGainRatio: number;
}

/** A kilobyte per second one millisecond sooner, and half a percent. */
export const DEFAULT_MOVE_PRICE: MovePriceRules = { minGain: 1_000, minWorkflowGainRatio: 0.005 };

/**
 * Bytes/s x ms that each move must add to the others. In a search it is what a move costs: so plans have few moves, each with its gain.
 * @param networkCost of the workflow as it runs, bytes/s x ms
 */
export function movePrice(networkCost: number, { minGain, minWorkflowGainRatio }: MovePriceRules): number {
  return Math.max(minGain, minWorkflowGainRatio * networkCost);
}
