import type { AmountsByNode, AssumedPod } from "@isochrone/placement";
import type { WorkflowGraph } from "@isochrone/topology";
import { FairMap } from "./fair-map.ts";
import { LedgerSums } from "./ledger-sums.ts";
import type { LedgerEntry } from "./ledger-entry.ts";

interface Decided {
  readonly entry: LedgerEntry;
  readonly atMs: number;
}

interface Observed {
  readonly entry: LedgerEntry;
  /** Monotonic; Infinity while a nomination lasts. */
  readonly untilMs: number;
}

/**
 * Bound on entries; the namespace with the most loses first. A scheduler places a few hundred pods per
 * second, and a tenant with 100,000 pending pods must not displace others.
 */
const MAX_ENTRIES = 20_000;

/**
 * Remembers where pods were sent, so that a burst doesn't herd to the node that was best before its first
 * pod. Bindings and nominations from the cluster are known to every replica and override own decisions.
 */
export class Ledger {
  readonly #keepMs: number;
  readonly #decided = new FairMap<Decided>(MAX_ENTRIES, shareOf);
  readonly #observed = new FairMap<Observed>(MAX_ENTRIES, shareOf);
  readonly #sums = new LedgerSums();
  #nextEndMs = Infinity;

  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  /** Replaces an earlier decision on the pod. `graph`: the workflow's graph that the decision used. */
  record(entry: LedgerEntry, graph: WorkflowGraph | null, nowMs: number): void {
    if (this.#keepMs === 0) return;
    const key = podKey(entry.namespace, entry.pod);
    const dropped = this.#decided.set(key, { entry, atMs: nowMs });
    this.#sums.put(key, entry, graph);
    if (dropped !== null) this.#recount(dropped.key);
  }

  /** The cluster shows the pod bound or nominated to a node. Replaces the own decision until `untilMs`. */
  observe(entry: LedgerEntry, graph: WorkflowGraph | null, untilMs: number): void {
    const key = podKey(entry.namespace, entry.pod);
    this.#decided.delete(key);
    this.#observed.delete(key);
    if (graph?.nodeOf(entry.namespace, entry.pod) === entry.node) return this.#sums.put(key, null);
    const dropped = this.#observed.set(key, { entry, untilMs });
    this.#nextEndMs = Math.min(this.#nextEndMs, untilMs);
    this.#sums.put(key, entry, graph);
    if (dropped !== null) this.#recount(dropped.key);
  }

  remove(namespace: string, pod: string): void {
    const key = podKey(namespace, pod);
    this.#decided.delete(key);
    this.#observed.delete(key);
    this.#sums.put(key, null);
  }

  /** The cluster shows no node: ends a nomination, keeps an own decision. */
  withdraw(namespace: string, pod: string): void {
    const key = podKey(namespace, pod);
    if (this.#observed.has(key)) this.#dropObserved(key);
  }

  without<T>(namespace: string, pod: string, answer: () => T): T {
    return this.#without(podKey(namespace, pod), answer);
  }

  /**
   * As `without`, and drops the own decision: kube-scheduler asks again, so it didn't carry it out. The
   * cluster's observations stay.
   */
  forget<T>(namespace: string, pod: string, answer: () => T): T {
    const key = podKey(namespace, pod);
    if (this.#decided.delete(key)) this.#recount(key);
    return this.#without(key, answer);
  }

  /** Times are monotonic. */
  expire(nowMs: number): void {
    for (let first = this.#decided.oldest; first !== null; first = this.#decided.oldest) {
      if (nowMs - first.value.atMs < this.#keepMs) break;
      this.#decided.delete(first.key);
      this.#recount(first.key);
    }
    if (nowMs < this.#nextEndMs) return;
    this.#nextEndMs = Infinity;
    for (const [key, { untilMs }] of this.#observed.entries()) {
      if (untilMs > nowMs) this.#nextEndMs = Math.min(this.#nextEndMs, untilMs);
      else this.#dropObserved(key);
    }
  }

  /**
   * Drops pods that a newer graph shows on a node. For a decision any node counts, since kube-scheduler may
   * choose another; the graph it was made by doesn't count, because it shows a previous pod of that name.
   */
  settle(graphOf: (namespace: string, workflow: string) => WorkflowGraph | null): void {
    for (const group of this.#sums.groups()) {
      const graph = graphOf(group.namespace, group.workflow);
      if (graph === null || graph === group.graph) continue;
      this.#sums.judgeBy(group, graph);
      for (const [key, { entry }] of group.entries) {
        const { namespace, pod, node } = entry;
        const shown = graph.nodeOf(namespace, pod);
        if (shown === undefined) continue;
        if (this.#decided.delete(key)) {
          const observed = this.#observed.get(key);
          this.#sums.put(key, observed?.entry ?? null, graph);
        } else if (shown === node) this.#dropObserved(key);
      }
    }
  }

  assumed(namespace: string, workflow: string): readonly AssumedPod[] {
    return this.#sums.assumed(namespace, workflow);
  }

  /** Expected usage of all entries by node. Live view. */
  assumedUse(): AmountsByNode {
    return this.#sums.use();
  }

  get size(): number {
    return this.#sums.size;
  }

  #without<T>(key: string, answer: () => T): T {
    const taken = this.#sums.take(key);
    if (taken === null) return answer();
    try {
      return answer();
    } finally {
      if (!this.#sums.has(key)) this.#sums.put(key, taken.entry, taken.graph);
    }
  }

  #dropObserved(key: string): void {
    this.#observed.delete(key);
    if (!this.#decided.has(key)) this.#sums.put(key, null);
  }

  #recount(key: string): void {
    const { entry } = this.#decided.get(key) ?? this.#observed.get(key) ?? { entry: null };
    this.#sums.put(key, entry);
  }
}

function shareOf({ entry }: { readonly entry: LedgerEntry }): { namespace: string; owner: string } {
  return { namespace: entry.namespace, owner: `${entry.workflow}/${entry.workload}` };
}

function podKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
