import type { AmountsByNode, AssumedPod } from "@isochrone/placement";
import type { WorkflowGraph } from "@isochrone/topology";
import { LedgerSums } from "./ledger-sums.ts";

/** A pod on its way to a node, or there, that the graphs don't show yet. */
export interface LedgerEntry {
  readonly namespace: string;
  readonly workflow: string;
  readonly workload: string;
  /** Other names that the workload may have; the first that the workflow's graph knows is taken. */
  readonly alternatives?: readonly string[];
  readonly pod: string;
  readonly node: string;
  /** What the pod will use; null = not known, nothing is deducted. */
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
}

interface Decided {
  readonly entry: LedgerEntry;
  readonly atMs: number;
}

interface Observed {
  readonly entry: LedgerEntry;
  /** Monotonic milliseconds; Infinity while a nomination lasts. */
  readonly untilMs: number;
  /** True while kube-scheduler asks about the pod anew: it must not be held against itself. */
  hidden: boolean;
}

/** Beyond this many the oldest entries go: a scheduler places some hundred pods a second at most. */
const MAX_ENTRIES = 20_000;

/**
 * Remembers for a while where pods were sent, so that a burst of pods doesn't herd to the node that was best before the first of them.
 * What the cluster shows (bindings and nominations) is known to every replica and replaces what this one decided itself.
 */
export class Ledger {
  readonly #keepMs: number;
  /** By namespace/pod, oldest first. */
  readonly #decided = new Map<string, Decided>();
  readonly #observed = new Map<string, Observed>();
  readonly #sums = new LedgerSums();
  /** No observation ends before. */
  #nextEndMs = Infinity;

  /** `keepMs`: how long own decisions count; 0 remembers none. */
  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  /** A later decision on the same pod replaces the former. `graph` is the workflow's graph that the decision was made by. */
  record(entry: LedgerEntry, graph: WorkflowGraph | null, nowMs: number): void {
    if (this.#keepMs === 0) return;
    const key = podKey(entry.namespace, entry.pod);
    this.#decided.delete(key);
    this.#decided.set(key, { entry, atMs: nowMs });
    const observed = this.#observed.get(key);
    if (observed !== undefined) observed.hidden = false;
    this.#sums.put(key, entry, graph);
    if (this.#decided.size > MAX_ENTRIES) this.forget(...nameOf(this.#decided.values().next().value!));
  }

  /** The cluster shows the pod on that node, or nominated to it: that counts until then, and no longer what was decided here. */
  observe(entry: LedgerEntry, graph: WorkflowGraph | null, untilMs: number): void {
    const key = podKey(entry.namespace, entry.pod);
    this.#decided.delete(key);
    this.#observed.delete(key);
    if (graph?.nodeOf(entry.namespace, entry.pod) === entry.node) return this.#sums.put(key, null);
    this.#observed.set(key, { entry, untilMs, hidden: false });
    this.#nextEndMs = Math.min(this.#nextEndMs, untilMs);
    this.#sums.put(key, entry, graph);
    if (this.#observed.size > MAX_ENTRIES) {
      const [oldest] = this.#observed.values();
      this.remove(...nameOf(oldest!));
    }
  }

  /** The cluster shows the pod on no node: what was decided or nominated didn't come to be. */
  remove(namespace: string, pod: string): void {
    const key = podKey(namespace, pod);
    this.#decided.delete(key);
    this.#observed.delete(key);
    this.#sums.put(key, null);
  }

  /** The cluster shows the pod on no node any more, or not yet: a nomination ends, an own decision still counts. */
  withdraw(namespace: string, pod: string): void {
    const key = podKey(namespace, pod);
    if (this.#observed.has(key)) this.#dropObserved(key);
  }

  /** kube-scheduler asks for the pod again: it didn't carry out what was decided, and a nomination counts only for others. */
  forget(namespace: string, pod: string): void {
    const key = podKey(namespace, pod);
    this.#decided.delete(key);
    const observed = this.#observed.get(key);
    if (observed !== undefined) observed.hidden = true;
    this.#sums.put(key, null);
  }

  /** Drops what is too old. Times are monotonic milliseconds. */
  expire(nowMs: number): void {
    for (const [key, { atMs }] of this.#decided) {
      if (nowMs - atMs < this.#keepMs) break;
      this.#decided.delete(key);
      const observed = this.#observed.get(key);
      this.#sums.put(key, observed?.hidden === false ? observed.entry : null);
    }
    if (nowMs < this.#nextEndMs) return;
    this.#nextEndMs = Infinity;
    for (const [key, { untilMs }] of this.#observed) {
      if (untilMs > nowMs) this.#nextEndMs = Math.min(this.#nextEndMs, untilMs);
      else this.#dropObserved(key);
    }
  }

  /**
   * Drops the pods that a newer graph shows on a node. For a decision that may be whichever node, since kube-scheduler may have chosen
   * another one; but the graph that it was made by doesn't count: what it shows is a former pod of that name.
   */
  settle(graphOf: (namespace: string, workflow: string) => WorkflowGraph | null): void {
    for (const group of this.#sums.groups()) {
      const graph = graphOf(group.namespace, group.workflow);
      if (graph === null || graph === group.graph) continue;
      group.graph = graph;
      group.assumed = null;
      for (const [key, { namespace, pod, node }] of group.entries) {
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

  #dropObserved(key: string): void {
    this.#observed.delete(key);
    if (!this.#decided.has(key)) this.#sums.put(key, null);
  }
}

function nameOf({ entry }: { readonly entry: LedgerEntry }): [namespace: string, pod: string] {
  return [entry.namespace, entry.pod];
}

function podKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
