// What a move must gain: enough for its pods, enough for their workflow, and more than what is measured may
// be wrong by.
import type { PlanProblem } from "../planner/objective/plan-problem.ts";
import type { PlanState } from "../planner/search/plan-state.ts";
import { workflowLatency } from "../scoring/workflow-latency.ts";
import type { MoveRules } from "./deschedule-input.ts";
import type { PodMove } from "./proposal.ts";

export class LeastGain {
  readonly #rules: MoveRules;
  /** Of a whole proposal, bytes per second x milliseconds. */
  readonly #ofWorkflow: number;

  constructor({ cluster, workflow }: PlanProblem, rules: MoveRules) {
    this.#rules = rules;
    const { ms, bytesPerSecond } = workflowLatency(cluster, workflow, rules.bytesPerRequest);
    this.#ofWorkflow = rules.minWorkflowGainRatio * bytesPerSecond * (ms ?? 0);
  }

  /** @param cost what the channels of its pods cost now */
  of(cost: number, moves: number): number {
    const { minGain, minGainRatio } = this.#rules;
    return Math.max(minGain * moves, minGainRatio * cost, this.#ofWorkflow, Number.MIN_VALUE);
  }

  /** What one move must add to the others of a proposal. */
  get added(): number {
    return Math.max(this.#rules.minGain, Number.MIN_VALUE);
  }
}

/**
 * By how much the gain of these moves may be wrong, since the links that they leave and take are: rates x
 * errors, as independent of each other as measurements of two links are. Channels to the nearest replica
 * don't say which link they take, and count for nothing.
 */
export function gainErrorOf({ field, traffic, assignment }: PlanState, moves: readonly PodMove[]): number {
  let square = 0;
  for (const { pod, node } of moves) {
    const from = assignment[pod]!;
    for (const [location, rate] of ratesOf({ traffic, assignment }, pod))
      square += (rate * field.errorMs(from, location)) ** 2 + (rate * field.errorMs(node, location)) ** 2;
  }
  return Math.sqrt(square);
}

/** By location, what the pod exchanges with all its peers there, bytes per second: they share one link. */
function ratesOf(
  { traffic: { groups, groupOf }, assignment }: Pick<PlanState, "traffic" | "assignment">,
  pod: number,
): ReadonlyMap<number, number> {
  const rates = new Map<number, number>();
  const group = groups[groupOf[pod]!];
  const add = (location: number, rate: number): void => {
    if (location >= 0) rates.set(location, (rates.get(location) ?? 0) + rate);
  };
  for (const { location, calling, called } of group?.fixed ?? []) add(location, calling + called);
  for (const { group: other, calling, called } of group?.links ?? [])
    for (const peer of groups[other]!.pods) if (peer !== pod) add(assignment[peer]!, calling + called);
  return rates;
}
