// Decides one run, in any mode. Pure except for yielding to the event loop.
import { decideInSteps, DEFAULT_PLAN_SETTINGS } from "@isochrone/placement";
import type {
  DescheduleDecision,
  DescheduleMemory,
  DisruptionBudget,
  MoveRules,
  RecentEviction,
  SpreadLimits,
} from "@isochrone/placement";
import type { costOf } from "../../planner/objective.ts";
import { ModelCheck } from "./model-check.ts";
import { paperDecision } from "./paper-decision.ts";
import type { PaperInput } from "./paper-decision.ts";
import type { DeschedulerConfig } from "./settings.ts";
import { Turns } from "./turns.ts";

interface RunInput extends PaperInput {
  readonly memory: DescheduleMemory;
  readonly disruptionBudgets: readonly DisruptionBudget[];
  readonly recent: readonly RecentEviction[];
  readonly rules: MoveRules;
  readonly nowMs: number;
}

export async function runDecision(
  { mode }: Pick<DeschedulerConfig, "mode">,
  input: RunInput,
): Promise<DescheduleDecision> {
  if (mode === "paper") return paperDecision(input);
  const { found, clock } = input;
  const { workflows, health, uids } = found;
  const steps = decideInSteps({ ...input, workflows, health, uids, cluster: new ModelCheck(found) });
  for (const turns = new Turns(clock); ;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await turns.next();
  }
}

export type CostOptions = ReturnType<typeof costOf>;

export function moveRules({
  config,
  bytesPerRequest,
  cost: { maxCpuUse, moneyShare, maxLatencyLoss } = DEFAULT_PLAN_SETTINGS,
  spread: { minNodes, minZones },
}: {
  readonly config: DeschedulerConfig;
  readonly bytesPerRequest: number;
  readonly cost?: CostOptions | undefined;
  readonly spread: SpreadLimits;
}): MoveRules {
  const {
    minGainRatio,
    minWorkflowGainRatio,
    minGain,
    rounds,
    maxEvictions,
    maxEvictionsPerNode,
    maxEvictionsPerNamespace,
    maxEvictionsPerHour,
  } = config;
  const { intervalMs, maxGroup, maxUnreadyRatio } = config;
  return {
    minGainRatio,
    minWorkflowGainRatio,
    minGain,
    rounds,
    intervalMs,
    maxEvictions,
    maxEvictionsPerNode,
    maxEvictionsPerNamespace,
    maxEvictionsPerHour,
    maxGroup,
    maxUnreadyRatio,
    bytesPerRequest,
    pressureShare: DEFAULT_PLAN_SETTINGS.pressureShare,
    maxCpuUse,
    moneyShare,
    maxLatencyLoss,
    minNodes,
    minZones,
  };
}
