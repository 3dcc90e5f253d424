// Weighs attraction by closeness: Algorithm 1, lines 11 to 16 (Marchese 2022, section 3.4).
import type { ClusterGraph } from "@isochrone/topology";
import { bounded } from "../scoring/columns.ts";
import type { ColumnPool } from "../scoring/columns.ts";
import { NearestShares } from "../scoring/routing.ts";
import type { Place } from "../scoring/routing.ts";
import type { Attraction, Attractions, NearestAttraction, Pull } from "./attraction.ts";

interface ClosenessRule {
  /** Closeness of a peer on the same node, 1/ms. */
  readonly gamma: number;
  readonly unknownMs: number;
  /** Limits closeness to `gamma`. The paper's 1 / latency is unbounded. */
  readonly capped: boolean;
}

interface ClosenessSums {
  /** Priority per ms. */
  readonly priority: Float64Array;
  /** Bytes per second per ms. */
  readonly traffic: Float64Array;
  readonly unknown: number;
}

/** Uses two columns of the pool. */
export function closenessSums(
  names: readonly string[],
  ids: Int32Array,
  graph: ClusterGraph,
  { even, nearest }: Attractions,
  pool: ColumnPool,
  rule: ClosenessRule,
): ClosenessSums {
  const sums = { priority: pool.take(), traffic: pool.take(), unknown: 0 };
  for (const attraction of even) addEven(sums, names, ids, graph, attraction, rule);
  for (const attraction of nearest) addNearest(sums, names, ids, graph, attraction, rule);
  for (const column of [sums.priority, sums.traffic])
    for (let row = 0; row < column.length; row++) column[row] = bounded(column[row]!);
  return sums;
}

type Sums = { -readonly [K in keyof ClosenessSums]: ClosenessSums[K] };

function addEven(
  sums: Sums,
  names: readonly string[],
  ids: Int32Array,
  graph: ClusterGraph,
  { place, calling, called }: Attraction,
  rule: ClosenessRule,
): void {
  const to = place.id < 0 ? null : graph.costsTo(place.id);
  const from = place.id < 0 ? null : graph.costsFrom(place.id);
  const rows = { names, ids, place };
  const outward = isIdle(calling) ? 0 : addPull(sums, rows, calling, { first: to, second: from }, rule);
  const inward = isIdle(called) ? 0 : addPull(sums, rows, called, { first: from, second: to }, rule);
  // Both directions cover the same node pairs.
  sums.unknown += Math.max(outward, inward);
}

interface Rows {
  readonly names: readonly string[];
  readonly ids: Int32Array;
  readonly place: Place;
}

interface Latencies {
  readonly first: Float64Array | null;
  readonly second: Float64Array | null;
}

/** Returns the number of unknown latencies. */
function addPull(
  sums: Sums,
  rows: Rows,
  { priority, traffic }: Pull,
  { first, second }: Latencies,
  rule: ClosenessRule,
): number {
  let unknown = 0;
  for (let row = 0; row < rows.ids.length; row++) {
    const id = rows.ids[row]!;
    let near = rule.gamma;
    if (!isOwn(rows, row)) {
      const ms = at(first, id);
      const otherWay = at(second, id);
      if (Number.isNaN(ms) && Number.isNaN(otherWay)) unknown++;
      near = closeness(ms, otherWay, rule);
    }
    sums.priority[row]! += priority * near;
    sums.traffic[row]! += traffic * near;
  }
  return unknown;
}

function isOwn({ names, ids, place }: Rows, row: number): boolean {
  const id = ids[row]!;
  return id < 0 || place.id < 0 ? names[row] === place.name : id === place.id;
}

function at(latencies: Float64Array | null, id: number): number {
  return latencies === null || id < 0 ? Number.NaN : latencies[id]!;
}

function addNearest(
  sums: Sums,
  names: readonly string[],
  ids: Int32Array,
  graph: ClusterGraph,
  attraction: NearestAttraction,
  rule: ClosenessRule,
): void {
  const { calling, pull, exchange, proximity } = attraction;
  const shares = new NearestShares(exchange, proximity);
  for (let row = 0; row < ids.length; row++) {
    const candidate = { name: names[row]!, id: ids[row]! };
    for (const [place, share] of shares.at(candidate)) {
      let near = rule.gamma;
      if (place.name !== candidate.name) {
        const there = place.id < 0 ? Number.NaN : at(graph.costsTo(place.id), candidate.id);
        const back = place.id < 0 ? Number.NaN : at(graph.costsFrom(place.id), candidate.id);
        if (Number.isNaN(there) && Number.isNaN(back)) sums.unknown++;
        near = closeness(calling ? there : back, calling ? back : there, rule);
      }
      sums.priority[row]! += pull.priority * share * near;
      sums.traffic[row]! += pull.traffic * share * near;
    }
  }
}

/** Lower bound of latencies: the resolution of our annotations. */
const SHORTEST_MS = 0.001;

/** Closeness of a node in 1/ms; 0 if it is unreachable. */
function closeness(ms: number, otherWay: number, { gamma, unknownMs, capped }: ClosenessRule): number {
  const latency = Number.isNaN(ms) ? (Number.isNaN(otherWay) ? unknownMs : otherWay) : ms;
  const near = 1 / Math.max(latency, SHORTEST_MS);
  return capped ? Math.min(gamma, near) : near;
}

function isIdle({ priority, traffic }: Pull): boolean {
  return priority === 0 && traffic === 0;
}
