// Plans that were found while more pods of their workflows could still come. At its turn a workflow's search
// starts from them.
import type { PlanProblem } from "@isochrone/placement";
import { BoundedMap } from "@isochrone/primitives";
import { searchPlan } from "./search.ts";
import type { SearchOptions, SearchResult } from "./search.ts";

/**
 * `early`: more pods may come, and the plan is kept. `due`: the search starts from what was kept of the
 * workflow. `other`: neither.
 */
export type PlanTurn = "early" | "due" | "other";

/** Node names by pod, and why the search ended. */
interface EarlyPlan extends Pick<SearchResult, "ended"> {
  readonly nodes: ReadonlyMap<string, string>;
}

/** Workflows. One is searched early at a time, and its turn follows. */
const KEPT = 32;
/** Share of the effort for the search from an early plan: the cluster has hardly changed meanwhile. */
const CHECK_SHARE = 0.25;

export class EarlyPlans {
  readonly #plans = new BoundedMap<EarlyPlan>(KEPT);

  search(problem: PlanProblem, options: Omit<SearchOptions, "start">, turn: PlanTurn): SearchResult {
    if (turn === "due") return this.#fromEarly(problem, options);
    const result = searchPlan(problem, options);
    if (turn === "early") this.#keep(problem, result);
    return result;
  }

  #keep(problem: PlanProblem, { assignment, complete, ended }: SearchResult): void {
    if (!complete) return;
    const { nodes } = problem;
    const placed = problem.pods.map((pod, at) => [keyOf(pod), nodes[assignment[at]!]!.name] as const);
    this.#plans.set(workflowOf(problem), { nodes: new Map(placed), ended });
  }

  #fromEarly(problem: PlanProblem, options: Omit<SearchOptions, "start">): SearchResult {
    const early = this.#plans.get(workflowOf(problem));
    const position = new Map(problem.nodes.map(({ name }, at) => [name, at]));
    const start = Int32Array.from(
      problem.pods,
      (pod) => position.get(early?.nodes.get(keyOf(pod)) ?? "") ?? -1,
    );
    if (early === undefined || start.includes(-1)) return searchPlan(problem, options);
    const { effort = Infinity } = options;
    const result = searchPlan(problem, { ...options, effort: effort * CHECK_SHARE, start });
    // The check found nothing better: it doesn't matter why it ended.
    const isSame = result.assignment.every((node, pod) => node === start[pod]);
    return isSame && result.ended === "effort" ? { ...result, ended: early.ended } : result;
  }
}

function workflowOf({ workflow: { namespace, name } }: PlanProblem): string {
  return `${namespace}/${name}`;
}

function keyOf({ namespace, name }: PlanProblem["pods"][number]): string {
  return `${namespace}/${name}`;
}
