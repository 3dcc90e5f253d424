import { MONEY_LEADS, type PlanSettings } from "@isochrone/placement";
import type { PlannerConfig } from "./settings.ts";

export type Objective = PlannerConfig["objective"];

const MONEY_SHARES: Readonly<Record<Objective, number>> = {
  latency: 0,
  money: MONEY_LEADS,
  weighted: 0.5,
};

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
