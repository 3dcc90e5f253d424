// The cluster graph as drawn: nodes in row order, one link per ordered pair, figures as columns. Built in a
// worker: at 1,000 nodes the graph is a megabyte of text.
import { byPlace, NO_REGION, NO_ZONE, recordOf } from "@isochrone/primitives";
import type { ClusterColumns, ClusterNode } from "@isochrone/topology";

const DEFAULT_METHODS: readonly string[] = ["udp_rr", "tcp_rr", "icmp", "tcp_connect"];
const STALE_AFTER_WINDOWS = 3;

const FIGURES = ["p50", "p90", "p99", "lossRatio", "costMs", "errorMs", "ageSeconds", "count"] as const;
type FigureName = (typeof FIGURES)[number];

export const PAIR = { provisional: 1, estimated: 2, declared: 4, stale: 8, dead: 16 } as const;

/**
 * Pairs sorted by row, then column: those of row r are at rowStart[r] to rowStart[r + 1] - 1. Unknown figures
 * are NaN.
 */
export interface Pairs {
  readonly rowStart: Int32Array;
  readonly column: Int32Array;
  readonly flags: Uint8Array;
  readonly figures: Readonly<Record<FigureName, Float32Array>>;
}

interface Area {
  readonly region: string;
  readonly zone: string;
  readonly begin: number;
  readonly end: number;
}

/** Pairs of a down node are omitted: their figures are meaningless. */
export const isDown = ({ down }: Pick<ClusterNode, "down">): boolean => down !== undefined;

export function downWords(
  { down }: Pick<ClusterNode, "down">,
  timeText: (at: string) => string,
): string | null {
  if (down === undefined) return null;
  return down.since === null ? down.text : down.text.replace(down.since, timeText(down.since));
}

export interface ClusterView {
  readonly version: number;
  readonly observedAt: string;
  readonly windowSeconds: number;
  readonly size: number;
  /** Sorted by region, zone and name. Parsed lazily on the main thread. */
  readonly nodes: readonly ClusterNode[];
  readonly areas: readonly Area[];
  readonly pairs: Pairs;
  readonly coordinates: ClusterColumns["coordinates"];
}

export const zoneOf = ({ zone }: Pick<ClusterNode, "zone">): string => zone ?? NO_ZONE;
const regionOf = ({ region }: Pick<ClusterNode, "region">): string => region ?? NO_REGION;

export function staleAfterSeconds(windowSeconds: number): number {
  return STALE_AFTER_WINDOWS * windowSeconds;
}

export function clusterViewOf(graph: ClusterColumns): ClusterView {
  const rows = graph.nodes
    .map((node, index) => ({ node, index }))
    .sort(({ node: a }, { node: b }) => byPlace(a, b));
  const nodes = rows.map(({ node }) => node);
  const rowAt = new Int32Array(nodes.length);
  for (const [row, { index }] of rows.entries()) rowAt[index] = row;
  const { version, observedAt, windowSeconds } = graph;
  return {
    version,
    observedAt,
    windowSeconds,
    size: nodes.length,
    nodes,
    areas: areasOf(nodes),
    pairs: pairsOf(graph, rowAt),
    coordinates: graph.coordinates,
  };
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

function pairsOf(graph: ClusterColumns, rowAt: Int32Array): Pairs {
  const { links } = graph;
  const size = rowAt.length;
  const best = bestLinks(graph, rowAt);
  const keys = Float64Array.from(best.keys()).sort();
  const pairs: Pairs = {
    rowStart: new Int32Array(size + 1),
    column: new Int32Array(keys.length),
    flags: new Uint8Array(keys.length),
    figures: recordOf(FIGURES, () => new Float32Array(keys.length)),
  };
  const staleSeconds = staleAfterSeconds(graph.windowSeconds);
  for (const [at, key] of keys.entries()) {
    const link = best.get(key)!;
    pairs.rowStart[Math.floor(key / size) + 1]!++;
    pairs.column[at] = key % size;
    pairs.flags[at] = flagsOf(links, link, staleSeconds);
    for (const name of FIGURES) pairs.figures[name][at] = links[COLUMNS[name]][link] ?? Number.NaN;
  }
  for (let row = 0; row < size; row++) pairs.rowStart[row + 1]! += pairs.rowStart[row]!;
  return pairs;
}

type Links = ClusterColumns["links"];

const COLUMNS = {
  p50: "p50Ms",
  p90: "p90Ms",
  p99: "p99Ms",
  lossRatio: "lossRatio",
  costMs: "costMs",
  errorMs: "errorMs",
  ageSeconds: "ageSeconds",
  count: "count",
} as const satisfies Record<FigureName, keyof Links>;

/** One link per ordered pair: methods are never merged; the first method with a figure is used. */
function bestLinks(
  { nodes, links, costMethods = [] }: ClusterColumns,
  rowAt: Int32Array,
): Map<number, number> {
  const order = [...new Set<string>([...costMethods, ...DEFAULT_METHODS])];
  const methodRanks = links.methods.map((method) => {
    const index = order.indexOf(method);
    return index < 0 ? -50 : -index;
  });
  const rankOf = (at: number): number =>
    (links.p50Ms[at] === null && links.costMs[at] === null ? 0 : 100) +
    (links.lossRatio[at] === null ? 0 : 50) +
    methodRanks[links.method[at]!]! +
    (links.ipFamily[at] === 4 ? 0.5 : 0);
  const isOut = nodes.map(isDown);
  const best = new Map<number, number>();
  for (let at = 0; at < links.source.length; at++) {
    const [row, column] = [rowAt[links.source[at]!]!, rowAt[links.target[at]!]!];
    if (row === column || isOut[links.source[at]!] === true || isOut[links.target[at]!] === true) continue;
    const key = row * rowAt.length + column;
    const other = best.get(key);
    if (other === undefined || rankOf(at) > rankOf(other)) best.set(key, at);
  }
  return best;
}

function flagsOf(links: Links, at: number, staleSeconds: number): number {
  const origin = links.origins[links.origin[at]!];
  return (
    (links.provisional[at] === 1 ? PAIR.provisional : 0) |
    (origin === "estimated" ? PAIR.estimated : 0) |
    (origin === "declared" ? PAIR.declared : 0) |
    (origin === "measured" && (links.ageSeconds[at] ?? Infinity) > staleSeconds ? PAIR.stale : 0) |
    (links.lossRatio[at] === 1 ? PAIR.dead : 0)
  );
}

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

/** Round-trip time from network coordinates, ms: |x_a - x_b| + height_a + height_b. NaN if one is unknown. */
export function estimateMs(a: readonly number[] | null, b: readonly number[] | null): number {
  if (a === null || b === null || a.length !== b.length || a.length < 2) return Number.NaN;
  const height = a.length - 1;
  let square = 0;
  for (let axis = 0; axis < height; axis++) square += (a[axis]! - b[axis]!) ** 2;
  return Math.sqrt(square) + a[height]! + b[height]!;
}

/**
 * Lookup of round-trip costs by node names: measured, else estimated. NaN if unknown or a node is down,
 * Infinity without an answer.
 */
export function costBetween(view: ClusterView): (source: string, target: string) => number {
  const ids = new Map(view.nodes.map(({ name }, index) => [name, index]));
  return (source, target) => {
    const [row, column] = [ids.get(source), ids.get(target)];
    if ([row, column].some((each) => each !== undefined && isDown(view.nodes[each]!))) return Number.NaN;
    if (source === target) return 0;
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
