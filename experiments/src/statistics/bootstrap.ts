import type { Random } from "@isochrone/runtime";
import { ascending, quantileOfSorted } from "@isochrone/primitives";
import { mean } from "./mean.ts";

export interface Estimate {
  readonly mean: number;
  /** Bounds of the 95 % interval. */
  readonly low: number;
  readonly high: number;
  /** Number of trials. */
  readonly n: number;
}

const RESAMPLES = 2000;
const TAIL = 0.025;

/** Mean over trials with a 95 % percentile bootstrap interval. A single trial is its own interval. */
export function estimateMean(values: readonly number[], random: Random): Estimate {
  return resampled(values.length, random, (pick) => mean(pick.map((index) => values[index]!)));
}

/** Relative change of the mean: -0.39 is 39 % less. Resamples trials as pairs, by position. */
export function estimateChange(
  values: readonly number[],
  baseline: readonly number[],
  random: Random,
): Estimate {
  if (values.length !== baseline.length)
    throw new RangeError(`pairs must have two sides, got ${values.length} and ${baseline.length} values`);
  return resampled(
    values.length,
    random,
    (pick) => mean(pick.map((index) => values[index]!)) / mean(pick.map((index) => baseline[index]!)) - 1,
  );
}

function resampled(n: number, random: Random, statistic: (pick: readonly number[]) => number): Estimate {
  if (n === 0) return { mean: Number.NaN, low: Number.NaN, high: Number.NaN, n };
  const all = Array.from({ length: n }, (_, index) => index);
  const centre = statistic(all);
  if (n === 1) return { mean: centre, low: centre, high: centre, n };
  const drawn = Array.from({ length: RESAMPLES }, () =>
    statistic(all.map(() => Math.floor(random.next() * n))),
  );
  const sorted = ascending(drawn);
  return { mean: centre, low: quantileOfSorted(sorted, TAIL), high: quantileOfSorted(sorted, 1 - TAIL), n };
}
