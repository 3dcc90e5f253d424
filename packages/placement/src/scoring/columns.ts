// Column arithmetic. A column holds one finite number per candidate.

/**
 * Room for the columns of one scoring, cut from one allocation and used again for the next one: each typed
 * array of its own is a system allocation and work for the collector.
 */
export class ColumnPool {
  #rows = 0;
  #block = new Float64Array(0);
  #taken = 0;
  /** Columns that were taken from the block before, to be taken again. */
  #views: Float64Array[] = [];
  #copy = new Float64Array(0);

  /** Takes all columns back. */
  reset(rows: number, columns: number): void {
    this.#taken = 0;
    if (rows !== this.#rows) this.#views = [];
    this.#rows = rows;
    if (this.#block.length < rows * columns) {
      this.#block = new Float64Array(rows * columns);
      this.#views = [];
    }
  }

  /** A column of zeros. */
  take(): Float64Array {
    const index = this.#taken++;
    const from = index * this.#rows;
    if (from + this.#rows > this.#block.length) return new Float64Array(this.#rows);
    return (this.#views[index] ??= this.#block.subarray(from, from + this.#rows)).fill(0);
  }

  /** A copy that is good until the next one. */
  copyOf(values: Float64Array): Float64Array {
    if (this.#copy.length !== values.length) this.#copy = new Float64Array(values.length);
    this.#copy.set(values);
    return this.#copy;
  }
}

/**
 * Larger magnitudes are cut off here, so that no sum or difference of two columns overflows into Infinity,
 * and no quotient into NaN.
 */
const LARGEST = 1e300;

/** The value within what sums and differences can bear; NaN becomes 0. */
export function bounded(value: number): number {
  if (value > LARGEST) return LARGEST;
  if (value < -LARGEST) return -LARGEST;
  return Number.isNaN(value) ? 0 : value;
}

/** What min-max normalisation subtracts and divides by. */
export interface MinMax {
  readonly least: number;
  readonly range: number;
}

/**
 * Over the rows where `counts` says 1. null when those rows don't differ: the column can't tell them apart. A
 * range that is smaller than `minSpread` of the largest magnitude counts as that wide, with its middle at
 * 0.5: rows that are nearly equal come out nearly equal.
 */
export function minMax(
  column: Float64Array,
  counts: Uint8Array | null,
  minSpread: number = 0,
): MinMax | null {
  let least = Infinity;
  let most = -Infinity;
  for (let row = 0; row < column.length; row++) {
    if (counts !== null && counts[row] === 0) continue;
    const value = column[row]!;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const range = most - least;
  if (!(range > 0)) return null;
  const narrowest = minSpread * Math.max(Math.abs(least), Math.abs(most));
  if (range >= narrowest) return { least, range };
  return { least: (least + most) / 2 - narrowest / 2, range: narrowest };
}

/** 0..1; rows that didn't count are clamped into that range. */
export function normalised(value: number, { least, range }: MinMax): number {
  const share = (value - least) / range;
  return share < 0 ? 0 : share > 1 ? 1 : share;
}

/**
 * Replaces NaN by the median of the other rows. Returns how many were replaced; null when every row is NaN.
 */
export function fillWithMedian(
  column: Float64Array,
  median: (values: Iterable<number>) => number | null,
): number | null {
  const missing: number[] = [];
  for (let row = 0; row < column.length; row++) if (Number.isNaN(column[row]!)) missing.push(row);
  if (missing.length === 0) return 0;
  const middle = median(column.filter((value) => !Number.isNaN(value)));
  if (middle === null) return null;
  for (const row of missing) column[row] = middle;
  return missing.length;
}

/** Adds a column times a weight; null adds nothing. */
export function addWeighted(sum: Float64Array, column: Float64Array | null, weight: number): void {
  if (column === null) return;
  for (let row = 0; row < sum.length; row++) sum[row]! += weight * column[row]!;
}

/**
 * Cuts fractions off, as kube-scheduler's plugins hand in whole numbers; values that differ by rounding alone
 * become equal. Changes the column.
 */
export function truncated(column: Float64Array | null): void {
  if (column === null) return;
  for (let row = 0; row < column.length; row++) column[row] = Math.trunc(column[row]!);
}
