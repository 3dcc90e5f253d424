import type { MovablePod, MoveRules, StayReason } from "./deschedule-input.ts";

interface PodOnNode {
  readonly pod: MovablePod;
  /** Where it is. */
  readonly node: string;
}

/** What a run may still evict. */
export class Budgets {
  readonly #rules: MoveRules;
  readonly #spent = new Map<string, number>();

  constructor(rules: MoveRules) {
    this.#rules = rules;
  }

  /** The budget that these pods together would exceed; null when there is none. */
  refusalOf(pods: readonly PodOnNode[]): { readonly reason: StayReason; readonly detail: string } | null {
    const wanted = new Map<string, number>();
    for (const one of pods) {
      for (const { key, limit, reason, what } of this.#accountsOf(one)) {
        const count = (wanted.get(key) ?? this.#spent.get(key) ?? 0) + 1;
        wanted.set(key, count);
        if (count > limit) return { reason, detail: `a run moves at most ${limit} ${what}` };
      }
    }
    return null;
  }

  spend(pods: readonly PodOnNode[]): void {
    for (const one of pods)
      for (const { key } of this.#accountsOf(one)) this.#spent.set(key, (this.#spent.get(key) ?? 0) + 1);
  }

  #accountsOf({ pod, node }: PodOnNode): readonly {
    readonly key: string;
    readonly limit: number;
    readonly reason: StayReason;
    readonly what: string;
  }[] {
    const { maxEvictions, maxEvictionsPerNode, maxEvictionsPerNamespace } = this.#rules;
    const { owner, namespace } = pod;
    return [
      { key: "run", limit: maxEvictions, reason: "max_evictions", what: "pods" },
      { key: `node ${node}`, limit: maxEvictionsPerNode, reason: "max_per_node", what: `from ${node}` },
      {
        key: `namespace ${namespace}`,
        limit: maxEvictionsPerNamespace,
        reason: "max_per_namespace",
        what: `of namespace ${namespace}`,
      },
      { key: `workload ${owner}`, limit: 1, reason: "max_per_workload", what: `of ${owner}` },
    ];
  }
}
