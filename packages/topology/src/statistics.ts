import { median } from "@isochrone/primitives";

/** Median absolute deviation. Null: fewer than two values. */
export function medianDeviation(values: readonly number[], centre: number): number | null {
  return values.length < 2 ? null : median(values.map((value) => Math.abs(value - centre)));
}

/**
 * Converts p90 - p50 of a normal distribution to half of the median's 90 % interval: 1.645 x sqrt(pi / 2) /
 * 1.2816.
 */
const MEDIAN_ERROR_PER_SPREAD = 1.609;

/** Half the 90 % interval of a median, assuming a normal distribution. Null: quantiles unknown. */
export function medianErrorMs({
  p50,
  p90,
  count,
}: {
  readonly p50: number | null;
  readonly p90: number | null;
  readonly count: number;
}): number | null {
  return p50 === null || p90 === null || count < 1
    ? null
    : (MEDIAN_ERROR_PER_SPREAD * (p90 - p50)) / Math.sqrt(count);
}
