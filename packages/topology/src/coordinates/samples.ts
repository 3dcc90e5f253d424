import { upperMedian } from "@isochrone/primitives";
import type { CoordinateInput, CoordinateSamples, MeasuredState, RejectedSamples } from "./types.ts";

/** Unordered pairs (first < second) with log(RTT / unit); `edge...` lists them by node, each pair twice. */
export interface Pairs {
  readonly nodes: number;
  readonly first: Int32Array;
  readonly second: Int32Array;
  readonly value: Float64Array;
  readonly variance: Float64Array;
  readonly rowStart: Int32Array;
  readonly neighbour: Int32Array;
  readonly pair: Int32Array;
}

export interface Measurements {
  readonly pairs: Pairs;
  readonly measured: MeasuredState;
  /** Natural logarithm of the unit in ms. */
  readonly logUnit: number;
  readonly rejected: RejectedSamples;
  readonly component: Int32Array;
  readonly components: number;
}

/** Variance of a normal sample's median relative to its mean: pi / 2. */
const MEDIAN_INEFFICIENCY = Math.PI / 2;
/** Weight of the common spread in replies, because few replies tell little. */
const SPREAD_PRIOR_REPLIES = 6;

/**
 * Physical bounds: light travels 150 m and back in 1 µs, and no probe waits longer. Protects the scale from
 * forged values.
 */
export const RTT_BOUNDS_MS = [1e-3, 61_200] as const;
/** Cap on replies per pair, above any window's. Limits the weight of one source. */
const MAX_REPLIES = 1e5;
/** Maximum relative spread. A wider one means unknown. */
const MAX_RELATIVE_SPREAD = 100;

/** Maximum log difference of both directions, which share a path. Beyond it one end is wrong. */
const ASYMMETRY = Math.log(2);

/** @param logUnit unit of an earlier fit; null: the median RTT */
export function collect({ nodes, samples: given }: CoordinateInput, logUnit: number | null): Measurements {
  const size = nodes.length;
  const { rows, rejected } = accept(given, size);
  const samples = { ...given, count: Float64Array.from(given.count, boundedCount) };
  const directed = merge(rows, samples, size);
  const unit = logUnit ?? upperMedian(directed.value) ?? 0;
  for (let at = 0; at < directed.value.length; at++) directed.value[at]! -= unit;
  const pairs = joinDirections(directed, size);
  const { component, components } = componentsOf(pairs);
  const { target, value, variance, rowStart } = directed;
  return {
    pairs,
    measured: { rowStart, target, value, variance },
    logUnit: unit,
    rejected,
    component,
    components,
  };
}

export function subsetOf(pairs: Pairs, keep: (pair: number) => boolean): Pairs {
  const kept = [...pairs.first.keys()].filter(keep);
  return indexed(
    pairs.nodes,
    Int32Array.from(kept, (pair) => pairs.first[pair]!),
    Int32Array.from(kept, (pair) => pairs.second[pair]!),
    Float64Array.from(kept, (pair) => pairs.value[pair]!),
    Float64Array.from(kept, (pair) => pairs.variance[pair]!),
  );
}

interface Directed extends MeasuredState {
  readonly source: Int32Array;
}

function boundedCount(count: number): number {
  return Math.max(1, Math.min(MAX_REPLIES, count));
}

function accept(
  { source, target, rttMs, count }: CoordinateSamples,
  size: number,
): { rows: number[]; rejected: RejectedSamples } {
  const rejected = { unknownNode: 0, self: 0, invalidRtt: 0, invalidCount: 0 };
  const known = (index: number): boolean => Number.isInteger(index) && index >= 0 && index < size;
  const rows: number[] = [];
  for (let row = 0; row < source.length; row++) {
    if (!known(source[row]!) || !known(target[row]!)) rejected.unknownNode++;
    else if (source[row] === target[row]) rejected.self++;
    else if (!(rttMs[row]! >= RTT_BOUNDS_MS[0] && rttMs[row]! <= RTT_BOUNDS_MS[1])) rejected.invalidRtt++;
    else if (!(count[row]! > 0 && count[row]! < Infinity)) rejected.invalidCount++;
    else rows.push(row);
  }
  const key = (row: number): number => source[row]! * size + target[row]!;
  // Sorted, so that results don't depend on the order of arrival.
  rows.sort((x, y) => key(x) - key(y) || rttMs[x]! - rttMs[y]! || count[x]! - count[y]!);
  return { rows, rejected };
}

function merge(rows: readonly number[], samples: CoordinateSamples, size: number): Directed {
  const { source, target, rttMs, count } = samples;
  const relative = relativeVariances(rows, samples);
  const sources: number[] = [];
  const targets: number[] = [];
  const values: number[] = [];
  const variances: number[] = [];
  for (let at = 0; at < rows.length;) {
    const first = rows[at]!;
    let replies = 0;
    let sum = 0;
    let spread = 0;
    for (; at < rows.length; at++) {
      const row = rows[at]!;
      if (source[row] !== source[first] || target[row] !== target[first]) break;
      replies += count[row]!;
      sum += count[row]! * Math.log(rttMs[row]!);
      spread += count[row]! * relative[at]!;
    }
    sources.push(source[first]!);
    targets.push(target[first]!);
    values.push(sum / replies);
    variances.push(spread / replies / replies);
  }
  const rowStart = new Int32Array(size + 1);
  for (const node of sources) rowStart[node + 1]!++;
  for (let node = 0; node < size; node++) rowStart[node + 1]! += rowStart[node]!;
  return {
    source: Int32Array.from(sources),
    target: Int32Array.from(targets),
    value: Float64Array.from(values),
    variance: Float64Array.from(variances),
    rowStart,
  };
}

/** Variance of one reply's logarithm x the median's inefficiency, shrunk towards the common one. */
function relativeVariances(
  rows: readonly number[],
  { rttMs, count, spreadMs }: CoordinateSamples,
): Float64Array {
  const known = (row: number): boolean =>
    spreadMs !== undefined && spreadMs[row]! >= 0 && spreadMs[row]! < Infinity && count[row]! > 1;
  const squared = (row: number): number => Math.min(MAX_RELATIVE_SPREAD, spreadMs![row]! / rttMs[row]!) ** 2;
  let total = 0;
  let replies = 0;
  for (const row of rows) {
    if (!known(row)) continue;
    // Limits the influence of a pair with a heavy tail.
    total += (count[row]! - 1) * Math.min(1, squared(row));
    replies += count[row]! - 1;
  }
  const common = replies > 0 ? total / replies : 0;
  return Float64Array.from(rows, (row) => {
    if (!known(row)) return MEDIAN_INEFFICIENCY * common;
    const own = count[row]! - 1;
    const steadied = (own * squared(row) + SPREAD_PRIOR_REPLIES * common) / (own + SPREAD_PRIOR_REPLIES);
    return MEDIAN_INEFFICIENCY * steadied;
  });
}

function joinDirections({ source, target, value, variance, rowStart }: Directed, size: number): Pairs {
  const first: number[] = [];
  const second: number[] = [];
  const values: number[] = [];
  const variances: number[] = [];
  for (let at = 0; at < source.length; at++) {
    const a = source[at]!;
    const b = target[at]!;
    const back = find({ rowStart, target }, b, a);
    if (back >= 0 && a > b) continue;
    first.push(Math.min(a, b));
    second.push(Math.max(a, b));
    values.push(back < 0 ? value[at]! : (value[at]! + value[back]!) / 2);
    const contradiction = back < 0 ? 0 : Math.max(0, Math.abs(value[at]! - value[back]!) - ASYMMETRY);
    variances.push(back < 0 ? variance[at]! : (variance[at]! + variance[back]!) / 4 + contradiction ** 2);
  }
  return indexed(
    size,
    Int32Array.from(first),
    Int32Array.from(second),
    Float64Array.from(values),
    Float64Array.from(variances),
  );
}

export function find(
  { rowStart, target }: Pick<MeasuredState, "rowStart" | "target">,
  source: number,
  wanted: number,
): number {
  let low = rowStart[source]!;
  let high = rowStart[source + 1]! - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    if (target[middle] === wanted) return middle;
    if (target[middle]! < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

function indexed(
  nodes: number,
  first: Int32Array,
  second: Int32Array,
  value: Float64Array,
  variance: Float64Array,
): Pairs {
  const rowStart = new Int32Array(nodes + 1);
  for (let at = 0; at < first.length; at++) {
    rowStart[first[at]! + 1]!++;
    rowStart[second[at]! + 1]!++;
  }
  for (let node = 0; node < nodes; node++) rowStart[node + 1]! += rowStart[node]!;
  const fill = rowStart.slice();
  const neighbour = new Int32Array(2 * first.length);
  const pair = new Int32Array(2 * first.length);
  for (let at = 0; at < first.length; at++) {
    const ends = [first[at]!, second[at]!] as const;
    for (const [side, node] of ends.entries()) {
      const edge = fill[node]!++;
      neighbour[edge] = ends[1 - side]!;
      pair[edge] = at;
    }
  }
  return { nodes, first, second, value, variance, rowStart, neighbour, pair };
}

function componentsOf({ nodes, rowStart, neighbour }: Pairs): {
  component: Int32Array;
  components: number;
} {
  const component = new Int32Array(nodes).fill(-1);
  let components = 0;
  for (let start = 0; start < nodes; start++) {
    if (component[start] !== -1 || rowStart[start] === rowStart[start + 1]) continue;
    const waiting = [start];
    component[start] = components;
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      for (let edge = rowStart[node]!; edge < rowStart[node + 1]!; edge++) {
        const other = neighbour[edge]!;
        if (component[other] !== -1) continue;
        component[other] = components;
        waiting.push(other);
      }
    }
    components++;
  }
  return { component, components };
}
