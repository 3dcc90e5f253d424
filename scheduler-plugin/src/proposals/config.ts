import type { MoveRules, PlanSettings, SpreadLimits } from "@isochrone/placement";
import type { DeschedulerConfig } from "../descheduler/decision/settings.ts";
import type { PlannerConfig } from "../planner/settings.ts";
import { costOf } from "../planner/objective.ts";
import { spreadLimits } from "../planner/spread.ts";

/** How often, and with how much time. */
export interface ProposalsConfig {
  readonly intervalMs: number;
  /** For the search of each workflow. */
  readonly planMs: number;
  /** Larger workflows, in pairs of a pod and a node, are left out. @default any */
  readonly maxPairs?: number;
  /** Workflows of more pods are left out. @default any */
  readonly maxPods?: number;
  /** Workflows that are looked at, those with the most traffic. @default 50 */
  readonly perRound?: number;
  /** No search begins later in its round. @default a tenth of `intervalMs` */
  readonly roundMs?: number;
  /** @default DEFAULT_SPREAD */
  readonly spread?: SpreadLimits;
  /** @default that of plans */
  readonly maxCpuUse?: number;
  /** @default those of plans */
  readonly objective?: Pick<PlanSettings, "maxLatencyLoss" | "moneyShare">;
  /** What a step must gain. @default that of plans */
  readonly leastGain?: Pick<MoveRules, "minGain" | "minGainRatio" | "minWorkflowGainRatio">;
  readonly seed: number;
  /**
   * Whether small plans are to be searched in the thread too, which is started for that.
   * @default some ms on the event loop
   */
  readonly isAllInThread?: boolean;
}

/** Gated pods wait for so long at most because a proposal is being searched. */
const MOST_MS = 250;
/** Proposals of a round; the others follow in the next one. */
const PER_ROUND = 50;

/** As the planner would plan and the descheduler would move; null: the planner is off. */
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

/** What a move must gain. */
export function leastGainOf({
  minGain,
  minGainRatio,
  minWorkflowGainRatio,
}: DeschedulerConfig): NonNullable<ProposalsConfig["leastGain"]> {
  return { minGain, minGainRatio, minWorkflowGainRatio };
}
