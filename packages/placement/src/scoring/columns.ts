/**
 * Cuts the columns of one scoring from one reused allocation: a typed array per column would burden the
 * garbage collector.
 */
export class ColumnPool {
  #rows = 0;
  #block = new Float64Array(0);
  #taken = 0;
  #views: Float64Array[] = [];
  #copy = new Float64Array(0);

  reset(rows: number, columns: number): void {
    this.#taken = 0;
    if (rows !== this.#rows) this.#views = [];
    this.#rows = rows;
    if (this.#block.length < rows * columns) {
      this.#block = new Float64Array(rows * columns);
      this.#views = [];
    }
  }

  take(): Float64Array {
    const index = this.#taken++;
    const from = index * this.#rows;
    if (from + this.#rows > this.#block.length) return new Float64Array(this.#rows);
    return (this.#views[index] ??= this.#block.subarray(from, from + this.#rows)).fill(0);
  }

  /** Returns a copy that is valid until the next call. */
  copyOf(values: Float64Array): Float64Array {
    if (this.#copy.length !== values.length) this.#copy = new Float64Array(values.length);
    this.#copy.set(values);
    return this.#copy;
  }
}

/** Bound on magnitudes, so that sums don't overflow to Infinity and quotients not to NaN. */
const LARGEST = 1e300;

export function bounded(value: number): number {
  if (value > LARGEST) return LARGEST;
  if (value < -LARGEST) return -LARGEST;
  return Number.isNaN(value) ? 0 : value;
}

export interface MinMax {
  readonly least: number;
  readonly range: number;
}

/**
 * Range of the rows where `counts` is 1. Null: these rows don't differ. A range below `minSpread` of the
 * largest magnitude is widened around its middle.
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

export function normalised(value: number, { least, range }: MinMax): number {
  const share = (value - least) / range;
  return share < 0 ? 0 : share > 1 ? 1 : share;
}

/** Returns the number of NaN values replaced by the median; null if all rows are NaN. */
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

export function addWeighted(sum: Float64Array, column: Float64Array | null, weight: number): void {
  if (column === null) return;
  for (let row = 0; row < sum.length; row++) sum[row]! += weight * column[row]!;
}

/** Truncates in place: kube-scheduler's plugins return integers, and rounding differences vanish. */
export function truncated(column: Float64Array | null): void {
  if (column === null) return;
  for (let row = 0; row < column.length; row++) column[row] = Math.trunc(column[row]!);
}
