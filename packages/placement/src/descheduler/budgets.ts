import type { DisruptionBudget, MovablePod, MoveRules, StayReason } from "./deschedule-input.ts";

interface PodOnNode {
  readonly pod: MovablePod;
  /** Where it is. */
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

/** What a run may still evict. */
export class Budgets {
  readonly #rules: MoveRules;
  readonly #disruptions: readonly DisruptionBudget[];
  readonly #spent = new Map<string, number>();

  constructor(rules: MoveRules, disruptions: readonly DisruptionBudget[] = []) {
    this.#rules = rules;
    this.#disruptions = disruptions;
  }

  /**
   * The budget that these pods together would exceed; null when there is none.
   *
   * @param asked whether PodDisruptionBudgets are asked: of a pod that is moved alone the API server asks
   * them, and its refusal is counted
   */
  refusalOf(pods: readonly PodOnNode[], asked: boolean): Refusal | null {
    const wanted = new Map<string, number>();
    for (const one of pods) {
      for (const { key, limit, reason, detail } of this.#accountsOf(one)) {
        if (reason === "disruption_budget" && !asked) continue;
        const count = (wanted.get(key) ?? this.#spent.get(key) ?? 0) + 1;
        wanted.set(key, count);
        if (count > limit) return { reason, detail };
      }
    }
    return null;
  }

  /**
   * The PodDisruptionBudget that lets none of these pods go now, so that moving them one after the other
   * would end half done; null: none.
   */
  blockerOf(pods: readonly MovablePod[]): Refusal | null {
    const blocker = this.#disruptions.find(
      (budget) => budget.allowed < 1 && pods.some((pod) => budget.covers(pod)),
    );
    return blocker === undefined ? null : disruptionRefusal(blocker);
  }

  spend(pods: readonly PodOnNode[]): void {
    for (const one of pods)
      for (const { key } of this.#accountsOf(one)) this.#spent.set(key, (this.#spent.get(key) ?? 0) + 1);
  }

  #accountsOf({ pod, node }: PodOnNode): readonly Account[] {
    const { maxEvictions, maxEvictionsPerNode, maxEvictionsPerNamespace } = this.#rules;
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
      ...this.#disruptions
        .filter((budget) => budget.covers(pod))
        .map((budget) => ({
          key: `budget ${budget.name}`,
          limit: budget.allowed,
          ...disruptionRefusal(budget),
        })),
    ];
  }
}

function disruptionRefusal({ name, allowed }: DisruptionBudget): Refusal {
  return {
    reason: "disruption_budget",
    detail: `the PodDisruptionBudget ${name} allows ${allowed} disruptions now`,
  };
}
