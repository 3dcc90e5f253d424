// What a move must gain: enough for its pods, and enough for their workflow.
import type { PlanProblem } from "../planner/objective/plan-problem.ts";
import { workflowLatency } from "../scoring/workflow-latency.ts";
import type { MoveRules } from "./deschedule-input.ts";

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
