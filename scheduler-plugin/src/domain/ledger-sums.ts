// What the ledger's entries add up to: the assumed pods of each workflow, and what they use on each node.
import type { AmountsByNode, AssumedPod } from "@isochrone/placement";
import type { WorkflowGraph } from "@isochrone/topology";
import type { LedgerEntry } from "./ledger.ts";
import { boundedAmount, MAX_AMOUNTS } from "./reserved-use.ts";

/** The entries of one workflow. */
export interface Group {
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

const NONE: readonly AssumedPod[] = [];

/** An entry that was taken out for a while, and the graph that it was held against. */
export interface TakenEntry {
  readonly entry: LedgerEntry;
  readonly graph: WorkflowGraph | null;
}

export class LedgerSums {
  readonly #entries = new Map<string, LedgerEntry>();
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
  put(key: string, said: LedgerEntry | null, graph: WorkflowGraph | null = null): void {
    this.#remove(key);
    if (said === null) return;
    const entry = finite(said);
    this.#entries.set(key, entry);
    const { namespace, workflow, node } = entry;
    const groupKey = `${namespace}/${workflow}`;
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
  }

  /** Takes the entry out, for `put` to bring it back; null: there is none. */
  take(key: string): TakenEntry | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    const { graph } = this.#groups.get(`${entry.namespace}/${entry.workflow}`)!;
    this.#remove(key);
    return { entry, graph };
  }

  /** The same for whoever knows the same entries, in whatever order they came. */
  assumed(namespace: string, workflow: string): readonly AssumedPod[] {
    const group = this.#groups.get(`${namespace}/${workflow}`);
    if (group === undefined) return NONE;
    group.assumed ??= Array.from(group.entries.values(), ({ workload, alternatives, pod, node }) => {
      const known = alternatives?.find((name) => group.graph?.workload(name) !== undefined);
      return { workload: known ?? workload, name: pod, node };
    }).sort((a, b) => (a.name < b.name ? -1 : 1));
    return group.assumed;
  }

  use(): AmountsByNode {
    return this.#use;
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    const groupKey = `${entry.namespace}/${entry.workflow}`;
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

/** One amount that isn't finite would make the sum of its node NaN for everybody, also after it has gone. */
function finite(entry: LedgerEntry): LedgerEntry {
  const cpuMillicores = boundedAmount(entry.cpuMillicores, MAX_AMOUNTS.cpuMillicores);
  const memoryBytes = boundedAmount(entry.memoryBytes, MAX_AMOUNTS.memoryBytes);
  return cpuMillicores === entry.cpuMillicores && memoryBytes === entry.memoryBytes
    ? entry
    : { ...entry, cpuMillicores, memoryBytes };
}
