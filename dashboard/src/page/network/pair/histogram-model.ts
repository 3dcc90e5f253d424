import type { LinkDistributions } from "@isochrone/topology";

export type MethodDistribution = LinkDistributions["distributions"][number];

interface Bar {
  readonly fromMs: number;
  readonly toMs: number;
  readonly share: number;
  readonly count: number;
}

export interface LogAxis {
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly number[];
}

const PER_OCTAVE = 64;
const MOST_BARS = 60;
/** Minimum axis range, so that noise does not look like structure. */
const LEAST_RATIO = 2;
const ROOM = 1.08;

/** Merges buckets into visible bars with the same bounds for all methods. */
export function barsOf({ buckets, count }: MethodDistribution, { low, high }: LogAxis): Bar[] {
  const octaves = Math.log2(high / low);
  let step = 1;
  while ((octaves * PER_OCTAVE) / step > MOST_BARS) step *= 2;
  const counts = new Map<number, number>();
  for (const { fromMs, toMs, count: answers } of buckets) {
    // Bucket's middle: its bounds are ambiguous.
    const middle = fromMs > 0 ? Math.sqrt(fromMs * toMs) : low;
    const bar = Math.floor((Math.log2(Math.max(middle, low)) * PER_OCTAVE) / step);
    counts.set(bar, (counts.get(bar) ?? 0) + answers);
  }
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([bar, answers]) => ({
      fromMs: 2 ** ((bar * step) / PER_OCTAVE),
      toMs: 2 ** (((bar + 1) * step) / PER_OCTAVE),
      share: answers / count,
      count: answers,
    }));
}

export function logAxisOf(distributions: readonly MethodDistribution[]): LogAxis {
  const known = distributions.flatMap(({ minMs, maxMs }) => [minMs ?? 0, maxMs ?? 0]).filter((ms) => ms > 0);
  if (known.length === 0) return { low: 0.1, high: 100, ticks: [0.1, 1, 10, 100] };
  let [low, high] = [Math.min(...known) / ROOM, Math.max(...known) * ROOM];
  const missing = LEAST_RATIO / (high / low);
  if (missing > 1) [low, high] = [low / Math.sqrt(missing), high * Math.sqrt(missing)];
  return { low, high, ticks: ticksBetween(low, high) };
}

const STEPS: readonly (readonly number[])[] = [
  [1],
  [1, 3],
  [1, 2, 5],
  [1, 1.5, 2, 3, 4, 5, 7],
  [1, 1.2, 1.4, 1.6, 1.8, 2, 2.3, 2.6, 3, 3.5, 4, 4.5, 5, 5.5, 6, 7, 8, 9],
];
const ENOUGH_TICKS = 4;
const MOST_TICKS = 8;

function ticksBetween(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low));
  const decades = Array.from(
    { length: Math.ceil(Math.log10(high)) - first + 1 },
    (_, at) => 10 ** (first + at),
  );
  let ticks: number[] = [];
  for (const steps of STEPS) {
    ticks = decades
      .flatMap((decade) => steps.map((step) => Number((step * decade).toPrecision(3))))
      .filter((tick) => tick >= low && tick <= high);
    if (ticks.length >= ENOUGH_TICKS) break;
  }
  const every = Math.ceil(ticks.length / MOST_TICKS);
  return ticks.filter((_, index) => index % every === 0);
}

const TICK_WIDTH = 60;

export function apart(ticks: readonly number[], toX: (tick: number) => number): number[] {
  let free = Number.NEGATIVE_INFINITY;
  return ticks.filter((tick) => {
    if (toX(tick) < free) return false;
    free = toX(tick) + TICK_WIDTH;
    return true;
  });
}
