import { labelOf } from "../objects/json.ts";
import type { NodeState } from "../objects/node-state.ts";

/** The domains of one topology key: the values that nodes have for it. */
export interface Topology {
  readonly key: string;
  /** By node: the domain's index; -1 without the label. */
  readonly domainOf: Int32Array;
  /** By domain: the label's value. */
  readonly values: readonly string[];
}

export class Topologies {
  readonly #nodes: readonly NodeState[];
  readonly #byKey = new Map<string, Topology>();
  /** Keys of labels that nodes have. Null: not looked up yet. */
  #keys: ReadonlySet<string> | null = null;
  readonly #nowhere: Int32Array;
  /** By node: itself, as the topology in which each is a domain, whatever its labels. */
  readonly each: Int32Array;

  constructor(nodes: readonly NodeState[]) {
    this.#nodes = nodes;
    this.each = Int32Array.from(nodes.keys());
    this.#nowhere = new Int32Array(nodes.length).fill(-1);
  }

  /** Keeps nothing of a key that no node has: pods may name any number of them. */
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

/** Pods by domain, for terms that are many and whose pods are in few domains each. */
export class SparseCounts {
  readonly #topology: Topology;
  readonly #counts = new Map<number, number>();
  /** Pods in all domains together. */
  total = 0;

  constructor(topology: Topology) {
    this.#topology = topology;
  }

  /** Nothing happens on a node without the label. */
  add(node: number, pods: number): void {
    const domain = this.#topology.domainOf[node]!;
    if (domain < 0) return;
    const count = (this.#counts.get(domain) ?? 0) + pods;
    if (count === 0) this.#counts.delete(domain);
    else this.#counts.set(domain, count);
    this.total += pods;
  }

  /** 0 for a node without the label. */
  at(node: number): number {
    return this.#counts.get(this.#topology.domainOf[node]!) ?? 0;
  }
}

/** Pods by domain. */
export class DomainCounts {
  readonly topology: Topology;
  readonly counts: Int32Array;
  /** Of all domains. */
  total = 0;

  constructor(topology: Topology) {
    this.topology = topology;
    this.counts = new Int32Array(topology.values.length);
  }

  /** Nothing happens on a node without the label. */
  add(node: number, pods: number): void {
    const domain = this.topology.domainOf[node]!;
    if (domain < 0) return;
    this.counts[domain]! += pods;
    this.total += pods;
  }

  /** 0 for a node without the label. */
  at(node: number): number {
    const domain = this.topology.domainOf[node]!;
    return domain < 0 ? 0 : this.counts[domain]!;
  }
}
