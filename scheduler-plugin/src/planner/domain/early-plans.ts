// Plans found while more pods of a workflow could still come. The search at its turn starts from them.
import type { PlanProblem } from "@isochrone/placement";
import { BoundedMap } from "@isochrone/primitives";
import { searchPlan } from "./search.ts";
import type { SearchOptions, SearchResult } from "./search.ts";

/** `early`: more pods may come; keep the plan. `due`: start from the kept plan. `other`: neither. */
export type PlanTurn = "early" | "due" | "other";

interface EarlyPlan extends Pick<SearchResult, "durationMs" | "ended"> {
  readonly nodes: ReadonlyMap<string, string>;
}

/** Workflows. One is searched early at a time, and its turn follows. */
const KEPT = 32;
/** Share of effort for continuing a search that had converged or run its time. */
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
    // Nothing better found: report why the earlier search ended.
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
