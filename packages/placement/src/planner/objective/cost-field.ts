import type { ClusterGraph } from "@isochrone/topology";
import type { PlanProblem } from "./plan-problem.ts";

const MAX_COLUMN_BYTES = 48e6;
const MIN_COLUMNS = 32;

interface Columns {
  readonly to: Float64Array;
  readonly from: Float64Array;
}

/**
 * Round-trip milliseconds, always finite: in the direction of the exchange, else in the other. Unknown counts
 * as the median, unreachable as the worst known. Locations are node indices, followed by nodes that host
 * unplanned pods only.
 */
export class CostField {
  readonly nodeCount: number;
  /** False if no cost is known: all costs are then 0. */
  readonly known: boolean;
  readonly medianMs: number;
  readonly #worstMs: number;
  readonly #cluster: ClusterGraph;
  readonly #names: readonly string[];
  readonly #byName = new Map<string, number>();
  readonly #ids: Int32Array;
  readonly #idsBehind: number[] = [];
  readonly #shared: Shared;
  readonly #kept: Map<number, Columns>;
  readonly #keptBehind = new Map<number, Columns>();
  protected readonly maxColumns: number;

  constructor({ cluster, nodes, nodeNames }: Pick<PlanProblem, "cluster" | "nodeNames" | "nodes">) {
    const median = cluster.medianKnownCost();
    const worst = cluster.worstKnownCost();
    this.known = median !== null && worst !== null;
    this.medianMs = median ?? 0;
    this.#worstMs = worst ?? 0;
    this.nodeCount = nodes.length;
    this.#cluster = cluster;
    this.#names = nodeNames ?? nodes.map(({ name }) => name);
    this.#shared = sharedOn(cluster, this.#names);
    this.#ids = this.#shared.ids;
    this.#kept = this.#shared.kept;
    this.maxColumns = Math.max(MIN_COLUMNS, Math.floor(MAX_COLUMN_BYTES / (16 * Math.max(1, nodes.length))));
  }

  location(name: string): number {
    const id = this.#cluster.idOf(name);
    const location = id < 0 ? this.#names.indexOf(name) : this.#shared.locationOf(id);
    if (location >= 0) return location;
    let behind = this.#byName.get(name);
    if (behind === undefined) {
      behind = this.nodeCount + this.#idsBehind.length;
      this.#idsBehind.push(id);
      this.#byName.set(name, behind);
    }
    return behind;
  }

  id(location: number): number {
    return location < this.nodeCount ? this.#ids[location]! : this.#idsBehind[location - this.nodeCount]!;
  }

  zone(location: number): string | null {
    return this.#cluster.nodes[this.id(location)]?.zone ?? null;
  }

  region(location: number): string | null {
    return this.#cluster.nodes[this.id(location)]?.region ?? null;
  }

  ms(from: number, to: number): number {
    if (from === to || !this.known) return 0;
    const there = this.#keptOf(to).get(to);
    if (there !== undefined && from < this.nodeCount) return there.to[from]!;
    const back = this.#keptOf(from).get(from);
    if (back !== undefined && to < this.nodeCount) return back.from[to]!;
    const a = this.id(from);
    const b = this.id(to);
    if (a < 0 || b < 0) return this.medianMs;
    const ms = this.#cluster.costMsById(a, b);
    return this.#counted(Number.isNaN(ms) ? this.#cluster.costMsById(b, a) : ms);
  }

  /** Error of `ms`: 0 within a location, infinite for an unknown or provisional link. */
  errorMs(from: number, to: number): number {
    if (from === to) return 0;
    const a = this.id(from);
    const b = this.id(to);
    if (a < 0 || b < 0) return Infinity;
    const isKnown = !Number.isNaN(this.#cluster.costMsById(a, b));
    return isKnown ? this.#cluster.errorMsById(a, b) : this.#cluster.errorMsById(b, a);
  }

  /** Read-only, valid until the next call. */
  to(location: number): Float64Array {
    return this.#columns(location).to;
  }

  /** Read-only, valid until the next call. */
  from(location: number): Float64Array {
    return this.#columns(location).from;
  }

  #columns(location: number): Columns {
    const kept = this.#keptOf(location);
    let columns = kept.get(location);
    if (columns === undefined) {
      columns = this.#build(location);
      if (kept.size >= this.maxColumns) kept.delete(kept.keys().next().value!);
      kept.set(location, columns);
    }
    return columns;
  }

  #keptOf(location: number): Map<number, Columns> {
    return location < this.nodeCount ? this.#kept : this.#keptBehind;
  }

  #build(location: number): Columns {
    const to = new Float64Array(this.nodeCount);
    const from = new Float64Array(this.nodeCount);
    const id = this.id(location);
    if (id < 0 || !this.known) {
      to.fill(this.medianMs);
      from.fill(this.medianMs);
    } else {
      // Not through the graph's columns, which would be cached twice.
      for (let node = 0; node < this.nodeCount; node++) {
        const other = this.#ids[node]!;
        const a = other < 0 ? Number.NaN : this.#cluster.costMsById(other, id);
        const b = other < 0 ? Number.NaN : this.#cluster.costMsById(id, other);
        to[node] = this.#counted(Number.isNaN(a) ? b : a);
        from[node] = this.#counted(Number.isNaN(b) ? a : b);
      }
    }
    if (location < this.nodeCount) to[location] = from[location] = 0;
    return { to, from };
  }

  #counted(ms: number): number {
    if (Number.isNaN(ms)) return this.medianMs;
    return ms === Infinity ? this.#worstMs : ms;
  }
}

/** Cached per graph: consecutive plans use the same nodes. */
const SHARED = new WeakMap<ClusterGraph, Shared>();

class Shared {
  names: readonly string[];
  readonly ids: Int32Array;
  readonly kept = new Map<number, Columns>();
  #locations: Map<number, number> | null = null;

  constructor(names: readonly string[], ids: Int32Array) {
    this.names = names;
    this.ids = ids;
  }

  locationOf(id: number): number {
    this.#locations ??= new Map(Array.from(this.ids, (of, location) => [of, location]));
    return this.#locations.get(id) ?? -1;
  }
}

function sharedOn(cluster: ClusterGraph, names: readonly string[]): Shared {
  const shared = SHARED.get(cluster);
  if (shared?.names === names) return shared;
  const ids = cluster.idsOf(names);
  if (shared !== undefined && areEqual(shared.ids, ids)) {
    shared.names = names;
    return shared;
  }
  const made = new Shared(names, ids);
  // Keep the largest set of nodes: smaller ones are used once.
  if (shared === undefined || ids.length >= shared.ids.length) SHARED.set(cluster, made);
  return made;
}

function areEqual(a: Int32Array, b: Int32Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}
