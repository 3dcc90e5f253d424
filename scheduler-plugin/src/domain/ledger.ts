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
  /** Monotonic milliseconds; Infinity while a nomination lasts. */
  readonly untilMs: number;
}

/**
 * Beyond this many entries go, those of the namespace with the most first: a scheduler places some hundred
 * pods a second at most, and a tenant with a hundred thousand pending pods must not make it forget the
 * others'.
 */
const MAX_ENTRIES = 20_000;

/**
 * Remembers for a while where pods were sent, so that a burst of pods doesn't herd to the node that was best
 * before the first of them. What the cluster shows (bindings and nominations) is known to every replica and
 * replaces what this one decided itself.
 */
export class Ledger {
  readonly #keepMs: number;
  /** By namespace/pod, oldest first. */
  readonly #decided = new FairMap<Decided>(MAX_ENTRIES, shareOf);
  readonly #observed = new FairMap<Observed>(MAX_ENTRIES, shareOf);
  readonly #sums = new LedgerSums();
  /** No observation ends before. */
  #nextEndMs = Infinity;

  /** `keepMs`: how long own decisions count; 0 remembers none. */
  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  /**
   * A later decision on the same pod replaces the previous. `graph` is the workflow's graph that the decision
   * was made by.
   */
  record(entry: LedgerEntry, graph: WorkflowGraph | null, nowMs: number): void {
    if (this.#keepMs === 0) return;
    const key = podKey(entry.namespace, entry.pod);
    const dropped = this.#decided.set(key, { entry, atMs: nowMs });
    this.#sums.put(key, entry, graph);
    if (dropped !== null) this.#recount(dropped.key);
  }

  /**
   * The cluster shows the pod on that node, or nominated to it: that counts until then, and no longer what
   * was decided here.
   */
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

  /** The cluster shows the pod on no node: what was decided or nominated didn't come to be. */
  remove(namespace: string, pod: string): void {
    const key = podKey(namespace, pod);
    this.#decided.delete(key);
    this.#observed.delete(key);
    this.#sums.put(key, null);
  }

  /**
   * The cluster shows the pod on no node any more, or not yet: a nomination ends, an own decision still
   * counts.
   */
  withdraw(namespace: string, pod: string): void {
    const key = podKey(namespace, pod);
    if (this.#observed.has(key)) this.#dropObserved(key);
  }

  /** Calls `answer` while the pod's own place isn't counted: a pod must not be held against itself. */
  without<T>(namespace: string, pod: string, answer: () => T): T {
    return this.#without(podKey(namespace, pod), answer);
  }

  /**
   * As `without`, for a pod that kube-scheduler asks for again: it didn't carry out what was decided, so that
   * is forgotten. What the cluster shows still counts afterwards.
   */
  forget<T>(namespace: string, pod: string, answer: () => T): T {
    const key = podKey(namespace, pod);
    if (this.#decided.delete(key)) this.#recount(key);
    return this.#without(key, answer);
  }

  /** Drops what is too old. Times are monotonic milliseconds. */
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
   * Drops the pods that a newer graph shows on a node. For a decision that may be whichever node, since
   * kube-scheduler may have chosen another one; but the graph that it was made by doesn't count: what it
   * shows is a previous pod of that name.
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

  /** The pods of a workflow that were sent somewhere. */
  assumed(namespace: string, workflow: string): readonly AssumedPod[] {
    return this.#sums.assumed(namespace, workflow);
  }

  /** What all remembered pods will use, by node. Changes with the ledger. */
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
      // A decision that was recorded meanwhile takes its place.
      if (!this.#sums.has(key)) this.#sums.put(key, taken.entry, taken.graph);
    }
  }

  #dropObserved(key: string): void {
    this.#observed.delete(key);
    if (!this.#decided.has(key)) this.#sums.put(key, null);
  }

  /** After what counted under this key has gone. */
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
