export function ascending(values: Iterable<number>): Float64Array {
  return Float64Array.from(values).sort();
}

/**
 * Quantile by linear interpolation (type 7 of Hyndman 1996). NaN without values.
 * @param sorted ascending
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

/** As {@link quantileOfSorted}, for unsorted values, which are copied. Null without values. */
export function quantile(values: Iterable<number>, share: number): number | null {
  const sorted = ascending(values);
  return sorted.length === 0 ? null : quantileOfSorted(sorted, share);
}

export function median(values: Iterable<number>): number | null {
  return quantile(values, 0.5);
}

/** The upper median, an existing value. Null without values. */
export function upperMedian(values: Iterable<number>): number | null {
  const sorted = ascending(values);
  return sorted[sorted.length >>> 1] ?? null;
}

/** Smallest value that `share` of the values do not exceed. Null without values. @param sorted ascending */
export function nearestRank(sorted: Float64Array, share: number): number | null {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/** Minimum samples for a percentile: with fewer, it is a random large value. @param share 0 to 1 */
export function samplesForPercentile(share: number): number {
  if (share > 0.95) return 100;
  return share > 0.5 ? 20 : 1;
}

/** Why a percentile of so few samples is hidden; null: it is shown. @param what counted items, plural */
export function percentileLack(share: number, samples: number, what = "requests"): string | null {
  const least = samplesForPercentile(share);
  if (samples >= least) return null;
  const name = `p${Math.round(share * 100)}`;
  return `${name} is shown from ${least} ${what} on; there ${samples === 1 ? "is 1" : `are ${Math.floor(samples)}`}`;
}
