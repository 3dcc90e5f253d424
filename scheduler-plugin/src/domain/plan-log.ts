// The last plans as a whole; each pod's part of one is a decision of its own.

/** Costs in bytes/s x ms. */
export interface LoggedPlan {
  readonly id: string;
  /** RFC 3339 */
  readonly at: string;
  /** namespace/name */
  readonly workflow: string;
  /** Of the search. */
  readonly durationMs: number;
  /** null when there is none: nothing could be planned. */
  readonly cost: { readonly network: number; readonly pressure: number; readonly total: number } | null;
  /** No plan costs less; null = not known. */
  readonly lowerBound: number | null;
  readonly pods: readonly LoggedPlanPod[];
  /** In words. */
  readonly explanation: readonly string[];
}

export interface LoggedPlanPod {
  readonly name: string;
  readonly workload: string | null;
  /** null: it was released without a node. */
  readonly node: string | null;
  readonly reason: string | null;
  /** Id of the decision. */
  readonly decision: string;
}

export interface PlanFilter {
  readonly namespace?: string | undefined;
  readonly limit: number;
}

/** Remembers so many plans; the oldest go first. */
export class PlanLog {
  readonly #capacity: number;
  readonly #plans: LoggedPlan[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(plan: LoggedPlan): void {
    this.#plans.push(plan);
    if (this.#plans.length > this.#capacity) this.#plans.shift();
  }

  /** Newest first. */
  find({ namespace, limit }: PlanFilter): LoggedPlan[] {
    return this.#plans
      .filter(({ workflow }) => namespace === undefined || workflow.startsWith(`${namespace}/`))
      .toReversed()
      .slice(0, limit);
  }
}
