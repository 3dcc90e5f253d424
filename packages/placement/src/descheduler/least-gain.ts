import { bytesPerSecondOf, type RequestValue } from "../scoring/channel-traffic.ts";
import type { PlanProblem } from "../planner/objective/plan-problem.ts";
import { workflowLatency } from "../scoring/workflow-latency.ts";
import type { MoveRules } from "./deschedule-input.ts";
import type { PodMove } from "./proposal.ts";

/** Minimum gain in milliseconds per request, mean over the moved pods' traffic. */
const LEAST_GAIN_MS = 0.1;

type LeastGainRules = Pick<
  MoveRules,
  "minGain" | "minGainRatio" | "minWorkflowGainRatio" | "bytesPerRequest"
>;

export class LeastGain {
  readonly #rules: LeastGainRules;
  readonly #ofWorkflow: number;
  /** Bytes per second of each pod's channels. */
  readonly #rateOf: readonly number[];

  constructor(problem: Pick<PlanProblem, "cluster" | "workflow" | "pods">, rules: LeastGainRules) {
    this.#rules = rules;
    const { cluster, workflow, pods } = problem;
    const { ms, bytesPerSecond } = workflowLatency(cluster, workflow, rules.bytesPerRequest);
    this.#ofWorkflow = rules.minWorkflowGainRatio * bytesPerSecond * (ms ?? 0);
    const rates = ratesOfReplicas(problem, rules.bytesPerRequest);
    this.#rateOf = pods.map(({ workload }) => (workload === null ? 0 : (rates.get(workload) ?? 0)));
  }

  /**
   * Returns the minimum gain, bytes per second x milliseconds.
   * @param cost current cost of the pods' channels
   */
  of(cost: number, moves: readonly Pick<PodMove, "pod">[]): number {
    const { minGain, minGainRatio } = this.#rules;
    const bytesPerSecond = moves.reduce((sum, { pod }) => sum + this.#rateOf[pod]!, 0);
    return Math.max(
      minGain * moves.length,
      minGainRatio * cost,
      LEAST_GAIN_MS * bytesPerSecond,
      this.#ofWorkflow,
      Number.MIN_VALUE,
    );
  }

  get added(): number {
    return Math.max(this.#rules.minGain, Number.MIN_VALUE);
  }
}

/** Bytes per second by workload. A channel within the workload counts at both ends. */
function ratesOfReplicas(
  { workflow }: Pick<PlanProblem, "workflow">,
  bytesPerRequest: number,
): ReadonlyMap<string, number> {
  const value: RequestValue =
    bytesPerRequest > 0
      ? { bytesPerRequest }
      : { bytesPerRequest: null, reason: "bytesPerRequest is 0, which leaves them unknown" };
  const rates = new Map<string, number>();
  for (const channel of workflow.channels) {
    const rate = bytesPerSecondOf(channel, value) ?? 0;
    for (const workload of [channel.source, channel.target])
      rates.set(workload, (rates.get(workload) ?? 0) + rate / Math.max(1, workflow.replicas(workload).size));
  }
  return rates;
}
