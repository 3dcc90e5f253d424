/** A copy in ascending order. */
export function ascending(values: Float64Array | readonly number[]): Float64Array {
  return Float64Array.from(values).sort();
}

/** The quantile by linear interpolation between closest ranks (type 7 of Hyndman and Fan, the default of R); NaN of nothing. */
export function quantile(sorted: Float64Array, share: number): number {
  if (!(share >= 0 && share <= 1)) throw new RangeError(`a quantile must be from 0 to 1, got ${share}`);
  if (sorted.length === 0) return Number.NaN;
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const low = sorted[below]!;
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!;
  return low + (high - low) * (at - below);
}

export function mean(values: Float64Array | readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

export function median(values: readonly number[]): number {
  return quantile(ascending(values), 0.5);
}
