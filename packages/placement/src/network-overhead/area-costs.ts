import type { ClusterGraph, DeclaredAreaCosts } from "@isochrone/topology";
import { NodeAreas } from "./areas.ts";

type AreaRows = Pick<DeclaredAreaCosts, "zones" | "regions">;

/** Cost from one area to another. Undefined: there is no entry. */
interface AreaLookup {
  zone(from: number, to: number): number | undefined;
  region(from: number, to: number): number | undefined;
}

/** Maximum number of cached columns, 8 bytes per area each. */
const MAX_COLUMNS = 1_024;

/** Caches costs by destination. */
export class AreaCostTable {
  readonly areas: NodeAreas;
  readonly #lookup: AreaLookup;
  readonly #columns = new Map<number, Float64Array>();

  constructor(areas: NodeAreas, lookup: AreaLookup) {
    this.areas = areas;
    this.#lookup = lookup;
  }

  /**
   * Returns the cost from each area to area `to`; NaN for a missing entry and for `to` itself. Shared: don't
   * modify.
   */
  to(to: number): Float64Array {
    let column = this.#columns.get(to);
    if (column === undefined) {
      column = this.#build(to);
      if (this.#columns.size >= MAX_COLUMNS) this.#columns.delete(this.#columns.keys().next().value!);
      this.#columns.set(to, column);
    }
    return column;
  }

  #build(to: number): Float64Array {
    const { region, count } = this.areas;
    const column = new Float64Array(count).fill(Number.NaN);
    for (let from = 0; from < count; from++) {
      if (from === to) continue;
      const cost = region[from] === region[to] ? this.#lookup.zone(from, to) : this.#lookup.region(from, to);
      if (cost !== undefined) column[from] = cost;
    }
    return column;
  }
}

/**
 * As the plugin's `populateCostMap`: if a zone and its region share a name, their rows mix and the zone's
 * win.
 */
function declaredLookup(areas: NodeAreas, { zones, regions }: AreaRows): AreaLookup {
  const find = (from: number, origin: string, destination: string): number | undefined => {
    if (origin === "") return undefined;
    const own = origin === areas.zone[from] ? zones.get(origin)?.get(destination) : undefined;
    if (own !== undefined) return own;
    return origin === areas.region[from] ? regions.get(origin)?.get(destination) : undefined;
  };
  return {
    zone: (from, to) => find(from, areas.zone[from]!, areas.zone[to]!),
    region: (from, to) => find(from, areas.region[from]!, areas.region[to]!),
  };
}

/** Range of costs in a NetworkTopology: at least 1, and below 100, which a missing entry costs. */
const MIN_COST = 1;
const MAX_COST = 99;

/** Converts measured latencies as the aggregator does for NetworkTopology: whole milliseconds, rounded up. */
function measuredLookup(areas: NodeAreas, graph: ClusterGraph): AreaLookup {
  const whole = (ms: number | null): number | undefined =>
    ms === null ? undefined : Math.min(MAX_COST, Math.max(MIN_COST, Math.ceil(ms)));
  const between = (from: number, to: number, cost: (a: number, b: number) => number | null) => {
    const a = areas.sample[from]!;
    const b = areas.sample[to]!;
    return a < 0 || b < 0 ? undefined : whole(cost(a, b));
  };
  return {
    zone: (from, to) => between(from, to, (a, b) => graph.zoneCostMsById(a, b)),
    region: (from, to) => between(from, to, (a, b) => graph.regionCostMsById(a, b)),
  };
}

const tables = new WeakMap<ClusterGraph, AreaCostTable>();

/** Returns the cached table of a graph: declared costs if there are any, else measured ones. */
export function areaCostsOf(graph: ClusterGraph): AreaCostTable {
  let table = tables.get(graph);
  if (table === undefined) {
    const areas = new NodeAreas(graph.nodes);
    const declared = graph.declaredAreas;
    const lookup = declared === null ? measuredLookup(areas, graph) : declaredLookup(areas, declared);
    tables.set(graph, (table = new AreaCostTable(areas, lookup)));
  }
  return table;
}
