// The cheapest plan of a small problem, proven by integer programming. The linearisation is of Adams 1994;
// tangents stand in for the convex price of load as in Duran 1986.
import type { LinearSolver } from "@isochrone/primitives/algorithms";
import { ExactModel } from "./exact-model.ts";
import { costModel, objectiveOf } from "../objective/objective.ts";
import type { PlanProblem } from "../objective/plan-problem.ts";
import { planSettings } from "../objective/plan-settings.ts";
import type { PlanSettings } from "../objective/plan-settings.ts";
import { limitRules } from "../rules/limit-rule.ts";

/** Pairs of a pod and a node up to which the solver answers within a second or so: 8 x 5. */
export const EXACT_PAIRS = 40;

interface ExactOptions extends Partial<PlanSettings> {
  readonly solve: LinearSolver;
  /** Milliseconds by a clock that never goes back. */
  readonly now: () => number;
  readonly deadlineMs: number;
  /** Where money has a share: see Plan. @default none */
  readonly latencyLimit?: number | null;
  /** @default EXACT_PAIRS */
  readonly maxPairs?: number;
}

type ExactPlan =
  /** Nothing is cheaper by more than the solver's tolerance, some parts in a million. */
  | {
      readonly kind: "optimal";
      readonly assignment: Int32Array;
      readonly total: number;
      readonly lowerBound: number;
    }
  | { readonly kind: "infeasible" }
  /** The deadline came first; what was found is no proof of anything. */
  | { readonly kind: "unfinished" }
  /** The problem is too large, or has parts that the program doesn't model. */
  | { readonly kind: "unsupported"; readonly reason: string };

const MAX_ROUNDS = 12;
/** Of the plan's cost. */
const CLOSE = 1e-6;

/** Throws PlacementError `invalid_setting`; rejects when the solver does. */
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
    // Found again although the program now knows its cost: what still lies between is the solver's tolerance.
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
