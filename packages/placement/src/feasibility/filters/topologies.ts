import { labelOf } from "../objects/json.ts";
import type { NodeState } from "../objects/node-state.ts";

export interface Topology {
  readonly key: string;
  /** Domain index by node; -1 without the label. */
  readonly domainOf: Int32Array;
  readonly values: readonly string[];
}

export class Topologies {
  readonly #nodes: readonly NodeState[];
  readonly #byKey = new Map<string, Topology>();
  #keys: ReadonlySet<string> | null = null;
  readonly #nowhere: Int32Array;
  /** The topology in which each node is a domain. */
  readonly each: Int32Array;

  constructor(nodes: readonly NodeState[]) {
    this.#nodes = nodes;
    this.each = Int32Array.from(nodes.keys());
    this.#nowhere = new Int32Array(nodes.length).fill(-1);
  }

  /** Caches nothing for unknown keys: pods can name any number of them. */
  of(key: string): Topology {
    this.#keys ??= new Set(this.#nodes.flatMap(({ labels }) => Object.keys(labels)));
    if (!this.#keys.has(key)) return { key, domainOf: this.#nowhere, values: [] };
    let topology = this.#byKey.get(key);
    if (topology === undefined) {
      topology = this.#read(key);
      this.#byKey.set(key, topology);
    }
    return topology;
  }

  #read(key: string): Topology {
    const values: string[] = [];
    const ids = new Map<string, number>();
    const domainOf = Int32Array.from(this.#nodes, ({ labels }) => {
      const value = labelOf(labels, key);
      if (value === undefined) return -1;
      let id = ids.get(value);
      if (id === undefined) {
        id = values.push(value) - 1;
        ids.set(value, id);
      }
      return id;
    });
    return { key, domainOf, values };
  }
}

export class SparseCounts {
  readonly #topology: Topology;
  readonly #counts = new Map<number, number>();
  total = 0;

  constructor(topology: Topology) {
    this.#topology = topology;
  }

  /** Counts pods in the node's domain. Ignores nodes without the label. */
  add(node: number, pods: number): void {
    const domain = this.#topology.domainOf[node]!;
    if (domain < 0) return;
    const count = (this.#counts.get(domain) ?? 0) + pods;
    if (count === 0) this.#counts.delete(domain);
    else this.#counts.set(domain, count);
    this.total += pods;
  }

  at(node: number): number {
    return this.#counts.get(this.#topology.domainOf[node]!) ?? 0;
  }
}

export class DomainCounts {
  readonly topology: Topology;
  readonly counts: Int32Array;
  total = 0;

  constructor(topology: Topology) {
    this.topology = topology;
    this.counts = new Int32Array(topology.values.length);
  }

  add(node: number, pods: number): void {
    const domain = this.topology.domainOf[node]!;
    if (domain < 0) return;
    this.counts[domain]! += pods;
    this.total += pods;
  }

  at(node: number): number {
    const domain = this.topology.domainOf[node]!;
    return domain < 0 ? 0 : this.counts[domain]!;
  }
}
