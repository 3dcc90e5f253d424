import type { AmountsByNode, AssumedPod } from "@isochrone/placement";
import type { WorkflowGraph } from "@isochrone/topology";

/** A decision that the graphs don't show yet. */
export interface LedgerEntry {
  readonly namespace: string;
  readonly workflow: string;
  readonly workload: string;
  readonly pod: string;
  readonly node: string;
  /** What the pod will use; null = not known, nothing is deducted. */
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
}

interface Kept {
  readonly entry: LedgerEntry;
  readonly atMs: number;
}

/** The entries of one workflow. */
interface Group {
  readonly namespace: string;
  readonly workflow: string;
  readonly entries: Map<string, LedgerEntry>;
  /** The graph that the entries were held against last. */
  graph: WorkflowGraph | null;
  /** Made when somebody asks; null after a change. */
  assumed: readonly AssumedPod[] | null;
}

interface Use {
  cpuMillicores: number;
  memoryBytes: number;
  /** Entries on the node; without any it is dropped, and with it what rounding left of the sums. */
  entries: number;
}

/** Beyond this many the oldest entries go: a scheduler places some hundred pods a second at most. */
const MAX_ENTRIES = 20_000;
const NONE: readonly AssumedPod[] = [];

/** Remembers decisions for a while, so that a burst of pods doesn't herd to the node that was best before the first of them. */
export class Ledger {
  readonly #keepMs: number;
  /** By namespace/pod, oldest first. */
  readonly #entries = new Map<string, Kept>();
  readonly #groups = new Map<string, Group>();
  readonly #use = new Map<string, Use>();

  /** `keepMs` 0 remembers nothing. */
  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  /** A later decision on the same pod replaces the former. `graph` is the workflow's graph that the decision was made by. */
  record(entry: LedgerEntry, graph: WorkflowGraph | null, nowMs: number): void {
    if (this.#keepMs === 0) return;
    this.forget(entry.namespace, entry.pod);
    const key = podKey(entry.namespace, entry.pod);
    this.#entries.set(key, { entry, atMs: nowMs });
    const { namespace, workflow, node } = entry;
    const groupKey = podKey(namespace, workflow);
    let group = this.#groups.get(groupKey);
    if (group === undefined) {
      group = { namespace, workflow, entries: new Map(), graph, assumed: null };
      this.#groups.set(groupKey, group);
    }
    group.entries.set(key, entry);
    group.assumed = null;
    const use = this.#use.get(node) ?? { cpuMillicores: 0, memoryBytes: 0, entries: 0 };
    use.cpuMillicores += entry.cpuMillicores ?? 0;
    use.memoryBytes += entry.memoryBytes ?? 0;
    use.entries++;
    this.#use.set(node, use);
    if (this.#entries.size > MAX_ENTRIES) this.#drop(this.#entries.keys().next().value!);
  }

  /** Drops the decision on a pod: kube-scheduler that asks for it again didn't carry it out. */
  forget(namespace: string, pod: string): void {
    this.#drop(podKey(namespace, pod));
  }

  /** Drops what is too old. Times are monotonic milliseconds. */
  expire(nowMs: number): void {
    for (const [key, { atMs }] of this.#entries) {
      if (nowMs - atMs < this.#keepMs) break;
      this.#drop(key);
    }
  }

  /**
   * Drops the pods that a newer graph shows on a node, whichever it is: kube-scheduler may have chosen another one. The graph that a
   * decision was made by doesn't count: what it shows is a former pod of that name.
   */
  settle(graphOf: (namespace: string, workflow: string) => WorkflowGraph | null): void {
    for (const group of this.#groups.values()) {
      const graph = graphOf(group.namespace, group.workflow);
      if (graph === null || graph === group.graph) continue;
      group.graph = graph;
      for (const [key, { namespace, pod }] of group.entries)
        if (graph.nodeOf(namespace, pod) !== undefined) this.#drop(key);
    }
  }

  /** The pods of a workflow that were sent somewhere. */
  assumed(namespace: string, workflow: string): readonly AssumedPod[] {
    const group = this.#groups.get(podKey(namespace, workflow));
    if (group === undefined) return NONE;
    group.assumed ??= Array.from(group.entries.values(), ({ workload, pod, node }) => {
      return { workload, name: pod, node };
    });
    return group.assumed;
  }

  /** What all remembered pods will use, by node. Changes with the ledger. */
  assumedUse(): AmountsByNode {
    return this.#use;
  }

  get size(): number {
    return this.#entries.size;
  }

  #drop(key: string): void {
    const kept = this.#entries.get(key);
    if (kept === undefined) return;
    const { entry } = kept;
    this.#entries.delete(key);
    const groupKey = podKey(entry.namespace, entry.workflow);
    const group = this.#groups.get(groupKey)!;
    group.entries.delete(key);
    group.assumed = null;
    if (group.entries.size === 0) this.#groups.delete(groupKey);
    const use = this.#use.get(entry.node)!;
    use.cpuMillicores -= entry.cpuMillicores ?? 0;
    use.memoryBytes -= entry.memoryBytes ?? 0;
    use.entries--;
    if (use.entries === 0) this.#use.delete(entry.node);
  }
}

function podKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
