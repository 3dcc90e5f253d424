// Costs between areas as the plugin's code looks them up: zones within a region, regions otherwise, always
// from the candidate's area.
import type { ClusterGraph, DeclaredAreaCosts } from "@isochrone/topology";
import { NodeAreas } from "./areas.ts";

/** Rows by origin, as a NetworkTopology's weights have them. */
type AreaRows = Pick<DeclaredAreaCosts, "zones" | "regions">;

/** Costs from one area to another; undefined = there is no such entry. */
interface AreaLookup {
  zone(from: number, to: number): number | undefined;
  region(from: number, to: number): number | undefined;
}

/** Columns kept: 8 bytes per area each. */
const MAX_COLUMNS = 1_024;

/** Looks costs up in columns, which depend on nodes and topology alone and are kept from pod to pod. */
export class AreaCostTable {
  readonly areas: NodeAreas;
  readonly #lookup: AreaLookup;
  readonly #columns = new Map<number, Float64Array>();

  constructor(areas: NodeAreas, lookup: AreaLookup) {
    this.areas = areas;
    this.#lookup = lookup;
  }

  /**
   * By area: the cost from it to area `to`; NaN where there is no entry, and for `to` itself. Shared between
   * callers: read only.
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
 * As the plugin's `populateCostMap`: one map holds the rows of the candidate's region and zone, so that a
 * zone called like its region finds entries of both, the zone's first. Nodes without a label have no row.
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

/** Costs that a NetworkTopology holds: whole, at least 1, and below the 100 of an entry that is missing. */
const MIN_COST = 1;
const MAX_COST = 99;

/**
 * Of measured links, in the numbers that the aggregator writes into NetworkTopology: whole milliseconds,
 * rounded up, 1 to 99.
 */
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

/**
 * The table of a graph: what is declared between its areas, else what was measured. Kept as long as the graph
 * lives.
 */
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
