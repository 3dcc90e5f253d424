import type { MoveRules, PlanSettings, SpreadLimits } from "@isochrone/placement";
import type { DeschedulerConfig } from "../descheduler/decision/settings.ts";
import type { PlannerConfig } from "../planner/settings.ts";
import { costOf } from "../planner/objective.ts";
import { spreadLimits } from "../planner/spread.ts";

export interface ProposalsConfig {
  readonly intervalMs: number;
  readonly planMs: number;
  readonly maxPairs?: number;
  readonly maxPods?: number;
  /** Workflows per round, those with the most traffic. @default 50 */
  readonly perRound?: number;
  /** No search begins later in its round. @default a tenth of `intervalMs` */
  readonly roundMs?: number;
  readonly spread?: SpreadLimits;
  readonly maxCpuUse?: number;
  readonly objective?: Pick<PlanSettings, "maxLatencyLoss" | "moneyShare">;
  readonly leastGain?: Pick<MoveRules, "minGain" | "minGainRatio" | "minWorkflowGainRatio">;
  readonly seed: number;
  /** Search small plans in the thread too, starting it. @default inline for some ms */
  readonly isAllInThread?: boolean;
}

/** Longest delay that a proposal causes gated pods. */
const MOST_MS = 250;
/** Proposals of a round; the others follow in the next one. */
const PER_ROUND = 50;

export function proposalsOf(
  planner: PlannerConfig | undefined,
  descheduler?: DeschedulerConfig,
): ProposalsConfig | null {
  if (planner === undefined || !planner.enabled) return null;
  return {
    intervalMs: planner.proposalsIntervalMs,
    planMs: Math.min(MOST_MS, planner.planMs),
    maxPods: planner.maxPods,
    perRound: PER_ROUND,
    spread: spreadLimits(planner),
    maxCpuUse: planner.maxCpuUse,
    objective: costOf(planner),
    ...(descheduler === undefined ? {} : { leastGain: leastGainOf(descheduler) }),
    seed: planner.seed,
    isAllInThread: true,
  };
}

export function leastGainOf({
  minGain,
  minGainRatio,
  minWorkflowGainRatio,
}: DeschedulerConfig): NonNullable<ProposalsConfig["leastGain"]> {
  return { minGain, minGainRatio, minWorkflowGainRatio };
}
