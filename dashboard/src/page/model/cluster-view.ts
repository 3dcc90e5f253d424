// The cluster graph as the page draws it: nodes in the order of rows, one believed link per ordered pair, figures as columns. Made in a
// worker: at 1,000 nodes the graph is tens of megabytes of text.
import type { ClusterGraphSnapshot, ClusterNode, Link } from "@isochrone/topology";

const DEFAULT_METHODS: readonly string[] = ["udp_rr", "tcp_rr", "icmp", "tcp_connect"];
/** As long as placement believes a figure: this many windows. */
const STALE_AFTER_WINDOWS = 3;

export const FIGURES = [
  "p50",
  "p90",
  "p99",
  "lossRatio",
  "costMs",
  "errorMs",
  "ageSeconds",
  "count",
] as const;
export type FigureName = (typeof FIGURES)[number];

/** Bits of a pair. */
export const PAIR = { provisional: 1, estimated: 2, declared: 4, stale: 8, dead: 16 } as const;

/** Pairs by row, then column: those of row r are at rowStart[r] to rowStart[r + 1] - 1. Unknown figures are NaN. */
export interface Pairs {
  readonly rowStart: Int32Array;
  readonly column: Int32Array;
  readonly flags: Uint8Array;
  readonly figures: Readonly<Record<FigureName, Float32Array>>;
}

/** Nodes that follow each other and are of one zone. */
export interface Area {
  readonly region: string;
  readonly zone: string;
  readonly begin: number;
  readonly end: number;
}

export interface ClusterView {
  readonly version: number;
  readonly observedAt: string;
  readonly windowSeconds: number;
  /** By region, zone and name. */
  readonly nodes: readonly ClusterNode[];
  readonly areas: readonly Area[];
  readonly pairs: Pairs;
  /** Links that the graph holds, of all methods. */
  readonly links: number;
  readonly coordinates: ClusterGraphSnapshot["coordinates"];
}

export const NO_ZONE = "no zone";
export const NO_REGION = "no region";

export const zoneOf = ({ zone }: Pick<ClusterNode, "zone">): string => zone ?? NO_ZONE;
export const regionOf = ({ region }: Pick<ClusterNode, "region">): string => region ?? NO_REGION;

/** Old beyond belief. */
export function staleAfterSeconds(windowSeconds: number): number {
  return STALE_AFTER_WINDOWS * windowSeconds;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function clusterViewOf(graph: ClusterGraphSnapshot): ClusterView {
  const nodes = [...graph.nodes].sort(
    (a, b) =>
      naturally(regionOf(a), regionOf(b)) || naturally(zoneOf(a), zoneOf(b)) || naturally(a.name, b.name),
  );
  const { version, observedAt, windowSeconds } = graph;
  return {
    version,
    observedAt,
    windowSeconds,
    nodes,
    areas: areasOf(nodes),
    pairs: pairsOf(graph, nodes),
    links: graph.links.length,
    coordinates: graph.coordinates,
  };
}

const collator = new Intl.Collator("en", { numeric: true });

/** node-2 before node-10. */
function naturally(a: string, b: string): number {
  return collator.compare(a, b) || compare(a, b);
}

function areasOf(nodes: readonly ClusterNode[]): Area[] {
  const areas: Area[] = [];
  for (const [index, node] of nodes.entries()) {
    const [region, zone] = [regionOf(node), zoneOf(node)];
    const last = areas.at(-1);
    if (last !== undefined && last.region === region && last.zone === zone)
      areas[areas.length - 1] = { ...last, end: index + 1 };
    else areas.push({ region, zone, begin: index, end: index + 1 });
  }
  return areas;
}

function pairsOf(graph: ClusterGraphSnapshot, nodes: readonly ClusterNode[]): Pairs {
  const ids = new Map(nodes.map(({ name }, index) => [name, index]));
  const best = bestLinks(graph, ids, nodes.length);
  const keys = Float64Array.from(best.keys()).sort();
  const pairs: Pairs = {
    rowStart: new Int32Array(nodes.length + 1),
    column: new Int32Array(keys.length),
    flags: new Uint8Array(keys.length),
    figures: Object.fromEntries(
      FIGURES.map((name) => [name, new Float32Array(keys.length)]),
    ) as Pairs["figures"],
  };
  const staleSeconds = staleAfterSeconds(graph.windowSeconds);
  for (const [at, key] of keys.entries()) {
    const link = best.get(key)!;
    pairs.rowStart[Math.floor(key / nodes.length) + 1]!++;
    pairs.column[at] = key % nodes.length;
    pairs.flags[at] = flagsOf(link, staleSeconds);
    const { p50, p90, p99, count } = link.rttMs;
    const { lossRatio, costMs, errorMs, ageSeconds } = link;
    const values = { p50, p90, p99, lossRatio, costMs, errorMs, ageSeconds, count };
    for (const name of FIGURES) pairs.figures[name][at] = values[name] ?? Number.NaN;
  }
  for (let row = 0; row < nodes.length; row++) pairs.rowStart[row + 1]! += pairs.rowStart[row]!;
  return pairs;
}

/** One link per ordered pair: methods are never merged, the first of the order that has a figure is believed. */
function bestLinks(
  { links, costMethods = [] }: ClusterGraphSnapshot,
  ids: ReadonlyMap<string, number>,
  size: number,
): Map<number, Link> {
  const methods = [...new Set([...costMethods, ...DEFAULT_METHODS])];
  const order = new Map(methods.map((method, index) => [method, -index] as const));
  const rankOf = (link: Link): number =>
    (link.rttMs.p50 !== null || link.costMs !== null ? 100 : 0) +
    (link.lossRatio === null ? 0 : 50) +
    (order.get(link.method) ?? -50) +
    (link.ipFamily === 4 ? 0.5 : 0);
  const best = new Map<number, Link>();
  for (const link of links) {
    const [source, target] = [ids.get(link.source), ids.get(link.target)];
    if (source === undefined || target === undefined || source === target) continue;
    const key = source * size + target;
    const other = best.get(key);
    if (other === undefined || rankOf(link) > rankOf(other)) best.set(key, link);
  }
  return best;
}

function flagsOf(link: Link, staleSeconds: number): number {
  return (
    (link.provisional ? PAIR.provisional : 0) |
    (link.origin === "estimated" ? PAIR.estimated : 0) |
    (link.origin === "declared" ? PAIR.declared : 0) |
    (link.origin === "measured" && (link.ageSeconds ?? Infinity) > staleSeconds ? PAIR.stale : 0) |
    (link.lossRatio === 1 ? PAIR.dead : 0)
  );
}

/** Position of an ordered pair, or -1. */
export function findPair({ rowStart, column }: Pairs, row: number, wanted: number): number {
  let low = rowStart[row] ?? 0;
  let high = (rowStart[row + 1] ?? 0) - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    if (column[middle] === wanted) return middle;
    if (column[middle]! < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** Row and column of a position. */
export function rowOf({ rowStart }: Pairs, at: number): number {
  let low = 0;
  let high = rowStart.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (rowStart[middle]! <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Round-trip time by network coordinates, ms: |x_a - x_b| + height_a + height_b. NaN where one isn't known. */
export function estimateMs(a: readonly number[] | null, b: readonly number[] | null): number {
  if (a === null || b === null || a.length !== b.length || a.length < 2) return Number.NaN;
  const height = a.length - 1;
  let square = 0;
  for (let axis = 0; axis < height; axis++) square += (a[axis]! - b[axis]!) ** 2;
  return Math.sqrt(square) + a[height]! + b[height]!;
}

/** What a round trip between two nodes costs, by name: measured, else by coordinates; NaN where neither is known, Infinity where none answers. */
export function costBetween(view: ClusterView): (source: string, target: string) => number {
  const ids = new Map(view.nodes.map(({ name }, index) => [name, index]));
  return (source, target) => {
    if (source === target) return 0;
    const [row, column] = [ids.get(source), ids.get(target)];
    if (row === undefined || column === undefined) return Number.NaN;
    const at = findPair(view.pairs, row, column);
    if (at >= 0) {
      const cost = view.pairs.figures.costMs[at]!;
      if (!Number.isNaN(cost)) return cost;
      if ((view.pairs.flags[at]! & PAIR.dead) !== 0) return Number.POSITIVE_INFINITY;
    }
    return estimateMs(view.nodes[row]!.coordinate, view.nodes[column]!.coordinate);
  };
}
