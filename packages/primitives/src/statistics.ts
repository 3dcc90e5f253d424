/** A copy in ascending order. */
export function ascending(values: Iterable<number>): Float64Array {
  return Float64Array.from(values).sort();
}

/**
 * The quantile by linear interpolation between the closest ranks (type 7 of Hyndman 1996). NaN without
 * values.
 * @param sorted in ascending order
 * @throws RangeError unless 0 <= share <= 1
 */
export function quantileOfSorted(sorted: Float64Array, share: number): number {
  if (!(share >= 0 && share <= 1)) throw new RangeError(`a quantile must be from 0 to 1, got ${share}`);
  if (sorted.length === 0) return Number.NaN;
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const low = sorted[below]!;
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!;
  return low + (high - low) * (at - below);
}

/** As {@link quantileOfSorted}, of values in any order, which are copied. Null without values. */
export function quantile(values: Iterable<number>, share: number): number | null {
  const sorted = ascending(values);
  return sorted.length === 0 ? null : quantileOfSorted(sorted, share);
}

/** The middle value, or the mean of the two middle ones. Null without values. */
export function median(values: Iterable<number>): number | null {
  return quantile(values, 0.5);
}

/** The middle value, the upper one of two: a value that was there. Null without values. */
export function upperMedian(values: Iterable<number>): number | null {
  const sorted = ascending(values);
  return sorted[sorted.length >>> 1] ?? null;
}

/**
 * The least value that `share` of the values don't exceed. Null without values.
 * @param sorted in ascending order
 */
export function nearestRank(sorted: Float64Array, share: number): number | null {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/**
 * Samples from which a percentile is shown: with fewer, it is one of the largest values by chance.
 * @param share 0 to 1
 */
export function samplesForPercentile(share: number): number {
  if (share > 0.95) return 100;
  return share > 0.5 ? 20 : 1;
}

/** Why a percentile of so few samples isn't shown; null: it is. @param what counts, in the plural */
export function percentileLack(share: number, samples: number, what = "requests"): string | null {
  const least = samplesForPercentile(share);
  if (samples >= least) return null;
  const name = `p${Math.round(share * 100)}`;
  return `${name} is shown from ${least} ${what} on; there ${samples === 1 ? "is 1" : `are ${Math.floor(samples)}`}`;
}
