import type { MoveRules } from "../../descheduler/deschedule-input.ts";
import type { PlanCost } from "../../planner/objective/objective.ts";
import type { PlanSettings } from "../../planner/objective/plan-settings.ts";
import type { TrafficCosts } from "../../planner/objective/traffic-costs.ts";
import type { Plan } from "../../planner/search/plan.ts";
import type { FeasiblePlanProblem } from "./plan-input.ts";

export interface PlannedMove {
  readonly pod: string;
  readonly workload: string;
  readonly from: string;
  readonly to: string;
  /** 1-based; the moves of a step only pay together. */
  readonly step: number;
  /** Saving after the previous steps, bytes/s x ms. */
  readonly gain: number;
  readonly gainError: number;
  /** Why the step can't be executed now. Null: it can. */
  readonly obstacle: string | null;
}

export interface WorkflowPlanReport {
  readonly workflow: string;
  readonly pods: number;
  readonly today: PlanCost & TrafficCosts;
  readonly best: PlanCost & TrafficCosts;
  readonly currency: string | null;
  /** Saved fraction of today's network cost, 0 to 1. Null: the cost is 0. */
  readonly savedRatio: number | null;
  /** Sum of the steps that can be executed now, bytes/s x ms. */
  readonly gain: number;
  readonly gainError: number;
  /** Mean round trip weighted by traffic. Null: no traffic. */
  readonly perRequest: RoundTrips | null;
  /** Best step first; steps that can't be executed now come last. */
  readonly moves: readonly PlannedMove[];
  readonly kept: readonly { readonly pod: string; readonly reason: string }[];
  readonly notes: readonly string[];
}

interface RoundTrips {
  readonly todayMs: number;
  readonly bestMs: number;
  readonly errorMs: number;
}

export type PreviousMoves = readonly (readonly { readonly pod: string; readonly to: string }[])[];

export type CostSettings = Partial<
  Pick<PlanSettings, "bytesPerRequest" | "maxCpuUse" | "maxLatencyLoss" | "moneyShare"> &
    Pick<MoveRules, "minGain" | "minGainRatio" | "minWorkflowGainRatio" | "minNodes" | "minZones">
>;

export interface RunningWorkflow {
  readonly problem: FeasiblePlanProblem;
  readonly kept: WorkflowPlanReport["kept"];
  readonly blocked: ReadonlyMap<number, string>;
}

export type FoundPlan = Pick<
  Plan,
  "assignment" | "complete" | "ended" | "fallback" | "traffic" | "networkKnown"
>;

/** The plan for movable pods, and an extended one for the others. */
export interface FoundPlans {
  readonly open: FoundPlan;
  /** Null: all pods are movable, or no plan was found. */
  readonly blocked: FoundPlan | null;
}
