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
interface EarlyPlan extends Pick<SearchResult, "durationMs" | "ended"> {
  readonly nodes: ReadonlyMap<string, string>;
}

/** Workflows. One is searched early at a time, and its turn follows. */
const KEPT = 32;
/** Share of the effort for a search from a plan of a search that converged, or took so long. */
const CHECK_SHARE = 0.1;
const LONG_MS = 100;

export class EarlyPlans {
  readonly #plans = new BoundedMap<EarlyPlan>(KEPT);

  search(problem: PlanProblem, options: Omit<SearchOptions, "start">, turn: PlanTurn): SearchResult {
    if (turn === "due") return this.#fromEarly(problem, options);
    const result = searchPlan(problem, options);
    if (turn === "early") this.#keep(problem, result);
    return result;
  }

  #keep(problem: PlanProblem, { assignment, complete, durationMs, ended }: SearchResult): void {
    if (!complete) return;
    const { nodes } = problem;
    const placed = problem.pods.map((pod, at) => [keyOf(pod), nodes[assignment[at]!]!.name] as const);
    this.#plans.set(workflowOf(problem), { nodes: new Map(placed), durationMs, ended });
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
    const isDone = early.ended === "converged" || early.ended === "optimal" || early.durationMs >= LONG_MS;
    const result = searchPlan(problem, { ...options, effort: isDone ? effort * CHECK_SHARE : effort, start });
    // It found nothing better: why it ended doesn't matter.
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
