import type {
  DisruptionBudget,
  MovablePod,
  MoveRules,
  RecentEviction,
  StayReason,
} from "./deschedule-input.ts";

interface PodOnNode {
  readonly pod: MovablePod;
  readonly workflow: string;
  readonly node: string;
}

interface Refusal {
  readonly reason: StayReason;
  readonly detail: string;
}

interface Account extends Refusal {
  readonly key: string;
  readonly limit: number;
}

type BudgetRules = Pick<
  MoveRules,
  "maxEvictions" | "maxEvictionsPerNode" | "maxEvictionsPerNamespace" | "maxEvictionsPerHour"
>;

export const HOUR_MS = 3_600_000;
/** Maximum share of the hourly evictions for one workflow. */
const WORKFLOW_SHARE = 1 / 2;
const WORKLOAD_SHARE = 1 / 10;

export class Budgets {
  readonly #rules: BudgetRules;
  readonly #disruptions: readonly DisruptionBudget[];
  readonly #spent = new Map<string, number>();

  constructor(
    rules: BudgetRules,
    disruptions: readonly DisruptionBudget[] = [],
    recent: readonly RecentEviction[] = [],
  ) {
    this.#rules = rules;
    this.#disruptions = disruptions;
    for (const one of recent) for (const { key } of this.#hourly(one)) this.#add(key);
  }

  /** Returns null if no budget is exceeded. */
  refusalOf(pods: readonly PodOnNode[]): Refusal | null {
    const wanted = new Map<string, number>();
    for (const one of pods) {
      const ambiguous = this.#ambiguity(one.pod);
      if (ambiguous !== null) return ambiguous;
      for (const { key, limit, reason, detail } of this.#accountsOf(one)) {
        const count = (wanted.get(key) ?? this.#spent.get(key) ?? 0) + 1;
        wanted.set(key, count);
        if (count > limit) return { reason, detail };
      }
    }
    return null;
  }

  /**
   * Returns a PodDisruptionBudget that allows none of these pods now: moving them in sequence would stop half
   * done. Null: none.
   */
  blockerOf(pods: readonly MovablePod[]): Refusal | null {
    for (const pod of pods) {
      const ambiguous = this.#ambiguity(pod);
      if (ambiguous !== null) return ambiguous;
    }
    const blocker = this.#disruptions.find(
      (budget) => budget.allowed < 1 && pods.some((pod) => budget.covers(pod)),
    );
    return blocker === undefined ? null : disruptionRefusal(blocker);
  }

  spend(pods: readonly PodOnNode[]): void {
    for (const one of pods) for (const { key } of this.#accountsOf(one)) this.#add(key);
  }

  #add(key: string): void {
    this.#spent.set(key, (this.#spent.get(key) ?? 0) + 1);
  }

  /** The eviction API refuses a pod that several PodDisruptionBudgets cover. */
  #ambiguity(pod: MovablePod): Refusal | null {
    const names = this.#disruptions.filter((budget) => budget.covers(pod)).map(({ name }) => name);
    return names.length < 2
      ? null
      : {
          reason: "disruption_budget",
          detail: `${names.length} PodDisruptionBudgets cover it (${names.join(", ")}), and the API server evicts no such pod`,
        };
  }

  #accountsOf(one: PodOnNode): readonly Account[] {
    const { maxEvictions, maxEvictionsPerNode, maxEvictionsPerNamespace } = this.#rules;
    const { pod, workflow, node } = one;
    const { owner, namespace } = pod;
    const atMost = (limit: number, what: string): string => `a run moves at most ${limit} ${what}`;
    return [
      { key: "run", limit: maxEvictions, reason: "max_evictions", detail: atMost(maxEvictions, "pods") },
      {
        key: `node ${node}`,
        limit: maxEvictionsPerNode,
        reason: "max_per_node",
        detail: atMost(maxEvictionsPerNode, `from ${node}`),
      },
      {
        key: `namespace ${namespace}`,
        limit: maxEvictionsPerNamespace,
        reason: "max_per_namespace",
        detail: atMost(maxEvictionsPerNamespace, `of namespace ${namespace}`),
      },
      { key: `workload ${owner}`, limit: 1, reason: "max_per_workload", detail: atMost(1, `of ${owner}`) },
      ...this.#hourly({ owner, workflow }),
      ...this.#disruptions
        .filter((budget) => budget.covers(pod))
        .map((budget) => ({
          key: `budget ${budget.name}`,
          limit: budget.allowed,
          ...disruptionRefusal(budget),
        })),
    ];
  }

  #hourly({ owner, workflow }: Pick<RecentEviction, "owner" | "workflow">): readonly Account[] {
    const { maxEvictionsPerHour } = this.#rules;
    const account = (key: string, share: number, what: string): Account => {
      const limit = Math.ceil(maxEvictionsPerHour * share);
      const detail = `at most ${limit} pods${what} are evicted per hour`;
      return { key: `hour ${key}`, limit, reason: "max_per_hour", detail };
    };
    return [
      account("cluster", 1, ""),
      account(`workflow ${workflow}`, WORKFLOW_SHARE, ` of workflow ${workflow}`),
      account(`workload ${owner}`, WORKLOAD_SHARE, ` of ${owner}`),
    ];
  }
}

function disruptionRefusal({ name, allowed }: DisruptionBudget): Refusal {
  return {
    reason: "disruption_budget",
    detail: `the PodDisruptionBudget ${name} allows ${allowed} disruptions now`,
  };
}
