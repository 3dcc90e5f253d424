import { boundedModel, costModel, type CostModel } from "../planner/objective/objective.ts";
import type { PlanProblem } from "../planner/objective/plan-problem.ts";
import { planSettings } from "../planner/objective/plan-settings.ts";
import { plan } from "../planner/search/plan.ts";
import type { MoveRules } from "./deschedule-input.ts";

/** Pod-node pairs evaluated per plan: about 20 ms. */
export const PLAN_EFFORT = 60_000;
/** Maximum pods x nodes of a workflow for new plans: larger ones would block the process. */
const MAX_PLANNED = 200_000;

export function isPlannable({ pods, nodes }: PlanProblem): boolean {
  return pods.length * nodes.length <= MAX_PLANNED;
}

/**
 * With a money share, moves keep the planner's latency bound. Workflows too large to plan must not get slower
 * at all.
 */
export function moveCosts(problem: PlanProblem, rules: MoveRules): CostModel {
  const settings = planSettings(rules);
  const model = costModel(problem, settings);
  if (model.latency === null) return model;
  const today = Int32Array.from(problem.pods, ({ current }) => current);
  const limits = { seed: 1, now: () => 0, deadlineMs: 1, effort: PLAN_EFFORT };
  const found = isPlannable(problem) ? plan(problem, { ...settings, ...limits, moneyShare: 0 }) : null;
  return found?.complete === true
    ? boundedModel(model, found.assignment, settings.maxLatencyLoss)
    : boundedModel(model, today, 0);
}
