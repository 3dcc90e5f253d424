/** The middle value (mean of the two middle ones); null without values. Sorts a copy. */
export function median(values: Iterable<number>): number | null {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return null;
  const middle = sorted.length >>> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Median absolute deviation from the median: the spread that a summary of several links admits; null below two values. */
export function medianDeviation(values: readonly number[], centre: number): number | null {
  return values.length < 2 ? null : median(values.map((value) => Math.abs(value - centre)));
}
