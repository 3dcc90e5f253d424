// Column arithmetic. A column holds one finite number per candidate.

/** Columns of one scoring, cut from one allocation: each typed array of its own is a system allocation and work for the collector. */
export class ColumnPool {
  readonly rows: number;
  readonly #block: Float64Array;
  #taken = 0;

  constructor(rows: number, columns: number) {
    this.rows = rows;
    this.#block = new Float64Array(rows * columns);
  }

  /** A column of zeros. */
  take(): Float64Array {
    const from = this.#taken;
    if (from === this.#block.length) return new Float64Array(this.rows);
    this.#taken += this.rows;
    return this.#block.subarray(from, this.#taken);
  }
}

/** Larger magnitudes are cut off here, so that no sum or difference of two columns overflows into Infinity, and no quotient into NaN. */
const LARGEST = 1e300;

/** The value within what sums and differences can bear; NaN becomes 0. */
export function bounded(value: number): number {
  if (value > LARGEST) return LARGEST;
  if (value < -LARGEST) return -LARGEST;
  return Number.isNaN(value) ? 0 : value;
}

/**
 * Min-max normalisation to 0..1 over the rows where `counts` says 1; other rows are clamped into that range.
 * null when the rows don't differ: the column can't tell them apart.
 */
export function minMax(column: Float64Array, counts: Uint8Array, pool: ColumnPool): Float64Array | null {
  let least = Infinity;
  let most = -Infinity;
  for (let row = 0; row < column.length; row++) {
    if (counts[row] === 0) continue;
    const value = column[row]!;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const range = most - least;
  if (!(range > 0)) return null;
  const normalised = pool.take();
  for (let row = 0; row < column.length; row++) {
    const value = (column[row]! - least) / range;
    normalised[row] = value < 0 ? 0 : value > 1 ? 1 : value;
  }
  return normalised;
}

/** Replaces NaN by the median of the other rows. Returns how many were replaced; null when every row is NaN. */
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
