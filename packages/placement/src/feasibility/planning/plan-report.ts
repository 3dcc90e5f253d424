// A workflow's plan: what it is made from, and what is said about it.
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
  /** Number of its step, from 1: the moves of a step only pay together. */
  readonly step: number;
  /** What its step saves once the steps before it are made, bytes/s x ms. */
  readonly gain: number;
  /** How far that may be off. */
  readonly gainError: number;
  /** Why its step can't be carried out now, in words; null: it can. */
  readonly obstacle: string | null;
}

export interface WorkflowPlanReport {
  /** namespace/name */
  readonly workflow: string;
  readonly pods: number;
  readonly today: PlanCost & TrafficCosts;
  /** Once the steps are made that can be carried out now. */
  readonly best: PlanCost & TrafficCosts;
  /** What `perMonth` is in; null: no prices were read. */
  readonly currency: string | null;
  /** Share of today's network cost that `best` saves, 0 to 1; null where it costs nothing. */
  readonly savedRatio: number | null;
  /** What the steps save together that can be carried out now, bytes/s x ms. */
  readonly gain: number;
  /** How far that may be off. */
  readonly gainError: number;
  /** Mean round trip of its requests, weighed by their traffic; null without traffic. */
  readonly perRequest: RoundTrips | null;
  /** The best step first, and those after it that can't be carried out now. */
  readonly moves: readonly PlannedMove[];
  /** Pods that stay where they are, with the reason. */
  readonly kept: readonly { readonly pod: string; readonly reason: string }[];
  /** What else there is to know, in sentences. */
  readonly notes: readonly string[];
}

/** Milliseconds. */
interface RoundTrips {
  readonly todayMs: number;
  readonly bestMs: number;
  /** How far the difference may be off. */
  readonly errorMs: number;
}

/** Steps that were shown, each with its moves: a pod, and the node that it was to move to. */
export type PreviousMoves = readonly (readonly { readonly pod: string; readonly to: string }[])[];

/** What plans cost by, and what a step must gain at least. */
export type CostSettings = Partial<
  Pick<PlanSettings, "bytesPerRequest" | "maxCpuUse" | "maxLatencyLoss" | "moneyShare"> &
    Pick<MoveRules, "minGain" | "minGainRatio" | "minWorkflowGainRatio" | "minNodes" | "minZones">
>;

/** The pods of a workflow that run, to be placed anew. */
export interface RunningWorkflow {
  readonly problem: FeasiblePlanProblem;
  readonly kept: WorkflowPlanReport["kept"];
  /** By pod of the problem, why it can't be moved now. */
  readonly blocked: ReadonlyMap<number, string>;
}

/** Of a search. */
export type FoundPlan = Pick<
  Plan,
  "assignment" | "complete" | "ended" | "fallback" | "traffic" | "networkKnown"
>;

/** What was found for pods that can be moved now, and beyond that for the others. */
export interface FoundPlans {
  readonly open: FoundPlan;
  /** null: all pods can be moved, or nothing was found. */
  readonly blocked: FoundPlan | null;
}
