// Proves the cheapest plan of a small problem by integer programming (Adams 1994), with tangents for the
// convex price of load (Duran 1986).
import type { LinearSolver } from "@isochrone/primitives/algorithms";
import { ExactModel } from "./exact-model.ts";
import { costModel, objectiveOf } from "../objective/objective.ts";
import type { PlanProblem } from "../objective/plan-problem.ts";
import { planSettings } from "../objective/plan-settings.ts";
import type { PlanSettings } from "../objective/plan-settings.ts";
import { limitRules } from "../rules/limit-rule.ts";

/** Pod-node pairs that the solver handles in about a second: 8 x 5. */
export const EXACT_PAIRS = 40;

interface ExactOptions extends Partial<PlanSettings> {
  readonly solve: LinearSolver;
  readonly now: () => number;
  readonly deadlineMs: number;
  /** See Plan. @default none */
  readonly latencyLimit?: number | null;
  readonly maxPairs?: number;
}

type ExactPlan =
  /** No plan is cheaper by more than the solver's tolerance, some parts per million. */
  | {
      readonly kind: "optimal";
      readonly assignment: Int32Array;
      readonly total: number;
      readonly lowerBound: number;
    }
  | { readonly kind: "infeasible" }
  /** The deadline passed without a proof. */
  | { readonly kind: "unfinished" }
  | { readonly kind: "unsupported"; readonly reason: string };

const MAX_ROUNDS = 12;
/** Optimality gap relative to the plan's cost. */
const CLOSE = 1e-6;

export async function exactPlan(problem: PlanProblem, options: ExactOptions): Promise<ExactPlan> {
  const { solve, now, deadlineMs, maxPairs = EXACT_PAIRS } = options;
  const pairs = problem.pods.length * problem.nodes.length;
  if (pairs > maxPairs)
    return unsupported(`it has ${pairs} pairs of a pod and a node, at most ${maxPairs} are solved exactly`);
  const unbounded = costModel(problem, planSettings(options));
  const costs = { ...unbounded, latencyLimit: options.latencyLimit ?? Infinity };
  if (costs.traffic.nearest.length > 0) return unsupported("a channel goes to the nearest replica");
  if (limitRules(problem, costs.field).length > 0) return unsupported("a channel declares a limit");
  const model = new ExactModel(costs);
  const objective = objectiveOf(costs);
  let before: Int32Array | null = null;
  for (let round = 0; round < MAX_ROUNDS && now() < deadlineMs; round++) {
    const solution = await solve(model.program(), deadlineMs - now());
    if (solution.status === "infeasible") return { kind: "infeasible" };
    if (solution.status === "unfinished") return { kind: "unfinished" };
    const assignment = model.assignmentOf(solution.values);
    const { total } = objective.total(assignment);
    const lowerBound = solution.bound * model.unit;
    // The same solution despite exact tangents: the rest is the solver's tolerance.
    const again = before !== null && before.every((node, pod) => node === assignment[pod]);
    if (again || total - lowerBound <= CLOSE * total)
      return { kind: "optimal", assignment, total, lowerBound };
    model.addTangents(assignment);
    before = assignment;
  }
  return { kind: "unfinished" };
}

function unsupported(reason: string): ExactPlan {
  return { kind: "unsupported", reason };
}
