import { MONEY_LEADS, type PlanSettings } from "@isochrone/placement";
import type { PlannerConfig } from "./settings.ts";

/** What plans save. */
export type Objective = PlannerConfig["objective"];

/** Money's share by the word of the settings; half and half where both count alike. */
const MONEY_SHARES: Readonly<Record<Objective, number>> = {
  latency: 0,
  money: MONEY_LEADS,
  weighted: 0.5,
};

/** What plans, proposals and moves cost by. */
export function costOf({
  maxCpuUse,
  objective,
  maxLatencyLoss,
}: Pick<PlannerConfig, "maxCpuUse" | "maxLatencyLoss" | "objective">): Pick<
  PlanSettings,
  "maxCpuUse" | "maxLatencyLoss" | "moneyShare"
> {
  return { maxCpuUse, maxLatencyLoss, moneyShare: MONEY_SHARES[objective] };
}
