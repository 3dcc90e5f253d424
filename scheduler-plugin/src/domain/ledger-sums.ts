// Sums of ledger entries: assumed pods per workflow, and usage per node.
import type { AmountsByNode, AssumedPod, ResourceAmounts } from "@isochrone/placement";
import type { WorkflowGraph } from "@isochrone/topology";
import type { Bytes, Millicores } from "@isochrone/primitives";
import type { LedgerEntry } from "./ledger-entry.ts";
import { knownWorkload, usedBy } from "./reserved-use.ts";

interface Group {
  readonly namespace: string;
  readonly workflow: string;
  readonly entries: Map<string, Counted>;
  graph: WorkflowGraph | null;
  /** Sorted by name; null: sort on demand. */
  pods: AssumedPod[] | null;
  /** Copy of `pods`, made on demand; null after a change. */
  assumed: readonly AssumedPod[] | null;
}

/** An entry with its exact contribution to the node's sums, so that removal restores them. */
interface Counted {
  readonly entry: LedgerEntry;
  readonly group: Group;
  use: ResourceAmounts;
  pod: AssumedPod;
}

interface Use {
  cpuMillicores: Millicores;
  memoryBytes: Bytes;
  /** Entries on the node. At 0 the sums are dropped, together with rounding errors. */
  entries: number;
}

const NONE: readonly AssumedPod[] = [];

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

  /** Replaces the key's entry; null removes it. `graph`: of the entry's workflow. */
  put(key: string, entry: LedgerEntry | null, graph: WorkflowGraph | null = null): void {
    this.#remove(key);
    if (entry === null) return;
    const { namespace, workflow } = entry;
    const groupKey = `${namespace}/${workflow}`;
    let group = this.#groups.get(groupKey);
    if (group === undefined) {
      group = { namespace, workflow, entries: new Map(), graph, pods: [], assumed: null };
      this.#groups.set(groupKey, group);
    }
    const counted = { entry, group, use: usedBy(entry, group.graph), pod: assumedPod(entry, group.graph) };
    this.#entries.set(key, counted);
    group.entries.set(key, counted);
    change(group, (pods) => pods.splice(placeOf(entry.pod, pods), 0, counted.pod));
    this.#add(counted);
  }

  judgeBy(group: Group, graph: WorkflowGraph): void {
    group.graph = graph;
    group.pods = null;
    group.assumed = null;
    for (const counted of group.entries.values()) {
      const { entry, use: before } = counted;
      counted.pod = assumedPod(entry, graph);
      const use = usedBy(entry, graph);
      if (use.cpuMillicores === before.cpuMillicores && use.memoryBytes === before.memoryBytes) continue;
      this.#subtract(counted);
      counted.use = use;
      this.#add(counted);
    }
  }

  take(key: string): TakenEntry | null {
    const counted = this.#entries.get(key);
    if (counted === undefined) return null;
    this.#remove(key);
    return { entry: counted.entry, graph: counted.group.graph };
  }

  /** Depends only on the set of entries, not on their order. */
  assumed(namespace: string, workflow: string): readonly AssumedPod[] {
    const group = this.#groups.get(`${namespace}/${workflow}`);
    if (group === undefined) return NONE;
    group.pods ??= Array.from(group.entries.values(), ({ pod }) => pod).sort(byName);
    return (group.assumed ??= group.pods.slice());
  }

  use(): AmountsByNode {
    return this.#use;
  }

  #remove(key: string): void {
    const counted = this.#entries.get(key);
    if (counted === undefined) return;
    this.#entries.delete(key);
    this.#subtract(counted);
    const { group } = counted;
    group.entries.delete(key);
    change(group, (pods) => pods.splice(placeOf(counted.entry.pod, pods), 1));
    if (group.entries.size === 0) this.#groups.delete(`${group.namespace}/${group.workflow}`);
  }

  #add({ entry, use }: Counted): void {
    let sums = this.#use.get(entry.node);
    if (sums === undefined)
      this.#use.set(entry.node, (sums = { cpuMillicores: 0, memoryBytes: 0, entries: 0 }));
    sums.cpuMillicores += use.cpuMillicores ?? 0;
    sums.memoryBytes += use.memoryBytes ?? 0;
    sums.entries++;
  }

  #subtract({ entry, use }: Counted): void {
    const sums = this.#use.get(entry.node)!;
    sums.cpuMillicores -= use.cpuMillicores ?? 0;
    sums.memoryBytes -= use.memoryBytes ?? 0;
    sums.entries--;
    if (sums.entries === 0) this.#use.delete(entry.node);
  }
}

function assumedPod(entry: LedgerEntry, graph: WorkflowGraph | null): AssumedPod {
  return { workload: knownWorkload(entry, graph), name: entry.pod, node: entry.node };
}

function byName(a: AssumedPod, b: AssumedPod): number {
  return a.name < b.name ? -1 : 1;
}

/** Above this many pods, inserting in order moves too many. */
const MOST_IN_ORDER = 256;

function change(group: Group, insertOrRemove: (pods: AssumedPod[]) => void): void {
  group.assumed = null;
  if (group.pods === null || group.pods.length > MOST_IN_ORDER) group.pods = null;
  else insertOrRemove(group.pods);
}

function placeOf(name: string, pods: readonly AssumedPod[]): number {
  let [from, to] = [0, pods.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (pods[middle]!.name < name) from = middle + 1;
    else to = middle;
  }
  return from;
}
