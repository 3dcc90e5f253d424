import type { WindowShape } from "./window-shape.ts";

/** Rows of one block: of a window of 30 panes that is 256 KiB. */
const ROWS_PER_BLOCK = 1024;

/** No row. */
export const NO_ROW = -1;

/**
 * Numbers by pane, for a hundred thousand entities: rows in blocks that a thousand of them share, given out
 * and taken back by number. An array of its own costs each entity about 300 bytes beyond its numbers, and the
 * collector a look at three objects.
 *
 * A row is a ring with a place for each pane of the window, for the one that may lie ahead of now, and one to
 * spare. A row that is given out is all zeros. Whoever takes one gives it back, or it is lost: nothing tells
 * when an entity is garbage.
 */
export class PaneRows {
  /** Places of a row. */
  readonly length: number;
  readonly paneMs: number;
  readonly #blocks: Float64Array[] = [];
  readonly #free: number[] = [];
  #given = 0;

  constructor({ panes, paneMs }: Pick<WindowShape, "panes" | "paneMs">) {
    this.length = panes + 2;
    this.paneMs = paneMs;
  }

  /** Rows that are in use. */
  get used(): number {
    return this.#given - this.#free.length;
  }

  /** A row of zeros. */
  take(): number {
    const known = this.#free.pop();
    if (known !== undefined) return known;
    if (this.#given === this.#blocks.length * ROWS_PER_BLOCK)
      this.#blocks.push(new Float64Array(ROWS_PER_BLOCK * this.length));
    return this.#given++;
  }

  /** Takes a row back. It must not be used any more. */
  release(row: number): void {
    this.clear(row);
    this.#free.push(row);
  }

  clear(row: number): void {
    const at = this.#placeOf(row, 0);
    this.#blockOf(row).fill(0, at, at + this.length);
  }

  /** @param pane time / paneMs, a whole number of at least 0 */
  get(row: number, pane: number): number {
    return this.#blockOf(row)[this.#placeOf(row, pane)]!;
  }

  set(row: number, pane: number, value: number): void {
    this.#blockOf(row)[this.#placeOf(row, pane)] = value;
  }

  add(row: number, pane: number, part: number): void {
    this.#blockOf(row)[this.#placeOf(row, pane)]! += part;
  }

  /** Sum of the panes first..last, in this order; at most `length` of them. */
  sum(row: number, first: number, last: number): number {
    const block = this.#blockOf(row);
    let sum = 0;
    for (let pane = first; pane <= last; pane++) sum += block[this.#placeOf(row, pane)]!;
    return sum;
  }

  #blockOf(row: number): Float64Array {
    return this.#blocks[Math.floor(row / ROWS_PER_BLOCK)]!;
  }

  #placeOf(row: number, pane: number): number {
    return (row % ROWS_PER_BLOCK) * this.length + (pane % this.length);
  }
}
