// What the moves of a workflow are judged by.
import { boundedModel, costModel, type CostModel } from "../planner/objective/objective.ts";
import type { PlanProblem } from "../planner/objective/plan-problem.ts";
import { planSettings } from "../planner/objective/plan-settings.ts";
import { plan } from "../planner/search/plan.ts";
import type { MoveRules } from "./deschedule-input.ts";

/** Work of a plan, in pairs of a pod and a node that are weighed up: some 20 ms. */
export const PLAN_EFFORT = 60_000;
/**
 * Pods x nodes of a workflow above which it isn't planned anew: that would keep the process from answering.
 */
const MAX_PLANNED = 200_000;

export function isPlannable({ pods, nodes }: PlanProblem): boolean {
  return pods.length * nodes.length <= MAX_PLANNED;
}

/**
 * Where money has a share, moves keep to the planner's bound on latency; in workflows that can't be planned
 * anew they lose none of today's.
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
