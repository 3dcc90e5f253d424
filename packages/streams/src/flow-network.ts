import type { BitsPerSecond } from "@isochrone/primitives";
import { StreamError } from "./errors.ts";

/** `full`: each direction has the capacity. `half`: both share it, like a radio. `simplex`: one direction. */
export type Duplex = "full" | "half" | "simplex";
export const DUPLEX_MODES: readonly Duplex[] = ["full", "half", "simplex"];

export interface FlowLink {
  readonly source: string;
  readonly target: string;
  readonly capacityBitsPerSecond: BitsPerSecond;
  readonly duplex?: Duplex;
}

interface Arc {
  readonly target: number;
  /** Index of its capacity, shared by both arcs of a half-duplex link. */
  readonly capacity: number;
}

/** Nodes and directed links with capacities, known by index. Immutable. */
export class FlowNetwork {
  readonly nodes: readonly string[];
  #capacities: Float64Array;
  #arcs: readonly (readonly Arc[])[];
  readonly #index: ReadonlyMap<string, number>;

  /**
   * Throws StreamError `invalid_network` for duplicates, unknown ends, loops, and capacities that are not
   * positive numbers.
   */
  constructor(nodes: readonly string[], links: readonly FlowLink[]) {
    this.nodes = nodes;
    this.#index = indexOf(nodes);
    const arcs: Arc[][] = nodes.map(() => []);
    const capacities: number[] = [];
    const seen = new Set<string>();
    const addArc = (source: number, target: number, capacity: number): void => {
      const key = `${source} ${target}`;
      if (seen.has(key))
        throw refused(`link ${nodes[source]!} -> ${nodes[target]!} must be declared once`, "it twice");
      seen.add(key);
      arcs[source]!.push({ target, capacity });
    };
    for (const link of links) {
      const [source, target] = this.#endsOf(link);
      const capacity = capacities.push(capacityOf(link)) - 1;
      addArc(source, target, capacity);
      if (link.duplex === "simplex") continue;
      const back = link.duplex === "half" ? capacity : capacities.push(link.capacityBitsPerSecond) - 1;
      addArc(target, source, back);
    }
    this.#arcs = arcs;
    this.#capacities = Float64Array.from(capacities);
  }

  get capacities(): Float64Array {
    return this.#capacities;
  }

  /** The same network with other capacities and the same indexes. Paths avoid links without capacity. */
  withCapacities(capacities: Float64Array): FlowNetwork {
    const changed = new FlowNetwork(this.nodes, []);
    changed.#capacities = capacities;
    changed.#arcs = this.#arcs.map((arcs) => arcs.filter(({ capacity }) => capacities[capacity]! > 0));
    return changed;
  }

  arcsFrom(node: number): readonly Arc[] {
    return this.#arcs[node]!;
  }

  indexOf(name: string): number | null {
    return this.#index.get(name) ?? null;
  }

  #endsOf({ source, target }: FlowLink): [number, number] {
    const ends = [source, target].map((name) => {
      const index = this.#index.get(name);
      if (index !== undefined) return index;
      throw refused(`link ${source} -> ${target} must join known nodes`, name);
    });
    if (source === target) throw refused(`link ${source} -> ${target} must join two nodes`, "one");
    return [ends[0]!, ends[1]!];
  }
}

function indexOf(nodes: readonly string[]): Map<string, number> {
  const index = new Map<string, number>();
  for (const [at, name] of nodes.entries()) {
    if (index.has(name)) throw refused(`node ${name} must be named once`, "it twice");
    index.set(name, at);
  }
  return index;
}

function capacityOf({ source, target, capacityBitsPerSecond: capacity }: FlowLink): number {
  if (Number.isFinite(capacity) && capacity > 0 && capacity <= Number.MAX_SAFE_INTEGER) return capacity;
  throw refused(
    `capacity of link ${source} -> ${target} must be above 0 and at most 2^53 - 1 bit/s`,
    capacity,
  );
}

function refused(rule: string, value: unknown): StreamError {
  return new StreamError("invalid_network", "network", rule, value);
}
