// What the ledger's entries add up to: the assumed pods of each workflow, and what they use on each node.
import type { AmountsByNode, AssumedPod, ResourceAmounts } from "@isochrone/placement";
import type { WorkflowGraph } from "@isochrone/topology";
import type { Bytes, Millicores } from "@isochrone/primitives";
import type { LedgerEntry } from "./ledger-entry.ts";
import { knownWorkload, usedBy } from "./reserved-use.ts";

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

/** An entry with what it adds to its node's sums: it must be taken away again to the digit. */
interface Counted {
  readonly entry: LedgerEntry;
  readonly use: ResourceAmounts;
}

interface Use {
  cpuMillicores: Millicores;
  memoryBytes: Bytes;
  /** Entries on the node; without any it is dropped, and with it what rounding left of the sums. */
  entries: number;
}

const NONE: readonly AssumedPod[] = [];

/** An entry that was taken out for a while, and the graph that it was held against. */
interface TakenEntry {
  readonly entry: LedgerEntry;
  readonly graph: WorkflowGraph | null;
}

export class LedgerSums {
  readonly #entries = new Map<string, Counted>();
  readonly #groups = new Map<string, Group>();
  readonly #use = new Map<string, Use>();

  get size(): number {
    return this.#entries.size;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  groups(): Iterable<Group> {
    return this.#groups.values();
  }

  /** Replaces what counts under this key; null: nothing does. `graph` is that of the entry's workflow. */
  put(key: string, entry: LedgerEntry | null, graph: WorkflowGraph | null = null): void {
    this.#remove(key);
    if (entry === null) return;
    const { namespace, workflow } = entry;
    const groupKey = `${namespace}/${workflow}`;
    let group = this.#groups.get(groupKey);
    if (group === undefined) {
      group = { namespace, workflow, entries: new Map(), graph, assumed: null };
      this.#groups.set(groupKey, group);
    }
    group.entries.set(key, entry);
    group.assumed = null;
    this.#add(key, { entry, use: usedBy(entry, group.graph) });
  }

  /**
   * From now on by this graph: what pods on their way use is what the newest graph knows of their workloads.
   */
  judgeBy(group: Group, graph: WorkflowGraph): void {
    group.graph = graph;
    group.assumed = null;
    for (const [key, entry] of group.entries) {
      const use = usedBy(entry, graph);
      const before = this.#entries.get(key)!.use;
      if (use.cpuMillicores === before.cpuMillicores && use.memoryBytes === before.memoryBytes) continue;
      this.#subtract(key);
      this.#add(key, { entry, use });
    }
  }

  /** Takes the entry out, for `put` to bring it back; null: there is none. */
  take(key: string): TakenEntry | null {
    const entry = this.#entries.get(key)?.entry;
    if (entry === undefined) return null;
    const { graph } = this.#groups.get(`${entry.namespace}/${entry.workflow}`)!;
    this.#remove(key);
    return { entry, graph };
  }

  /** The same for whoever knows the same entries, in whatever order they came. */
  assumed(namespace: string, workflow: string): readonly AssumedPod[] {
    const group = this.#groups.get(`${namespace}/${workflow}`);
    if (group === undefined) return NONE;
    group.assumed ??= Array.from(group.entries.values(), (entry) => {
      return { workload: knownWorkload(entry, group.graph), name: entry.pod, node: entry.node };
    }).sort((a, b) => (a.name < b.name ? -1 : 1));
    return group.assumed;
  }

  use(): AmountsByNode {
    return this.#use;
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key)?.entry;
    if (entry === undefined) return;
    this.#subtract(key);
    const groupKey = `${entry.namespace}/${entry.workflow}`;
    const group = this.#groups.get(groupKey)!;
    group.entries.delete(key);
    group.assumed = null;
    if (group.entries.size === 0) this.#groups.delete(groupKey);
  }

  #add(key: string, counted: Counted): void {
    this.#entries.set(key, counted);
    const { entry, use } = counted;
    const sums = this.#use.get(entry.node) ?? { cpuMillicores: 0, memoryBytes: 0, entries: 0 };
    sums.cpuMillicores += use.cpuMillicores ?? 0;
    sums.memoryBytes += use.memoryBytes ?? 0;
    sums.entries++;
    this.#use.set(entry.node, sums);
  }

  #subtract(key: string): void {
    const { entry, use } = this.#entries.get(key)!;
    this.#entries.delete(key);
    const sums = this.#use.get(entry.node)!;
    sums.cpuMillicores -= use.cpuMillicores ?? 0;
    sums.memoryBytes -= use.memoryBytes ?? 0;
    sums.entries--;
    if (sums.entries === 0) this.#use.delete(entry.node);
  }
}
