import type { WindowShape } from "./window-shape.ts";

/** A block takes 256 KiB for a window of 30 panes. */
const ROWS_PER_BLOCK = 1024;

export const NO_ROW = -1;

/**
 * Numbers by pane for a hundred thousand entities, as rows in blocks of a thousand. An array per entity costs
 * about 300 extra bytes and three objects for the garbage collector. A row is a ring: one slot per pane of
 * the window, one for a pane ahead of now, and one spare. New rows are all zeros. The owner must release its
 * row, or it leaks.
 */
export class PaneRows {
  readonly length: number;
  readonly paneMs: number;
  readonly #blocks: Float64Array[] = [];
  readonly #free: number[] = [];
  #given = 0;

  constructor({ panes, paneMs }: Pick<WindowShape, "panes" | "paneMs">) {
    this.length = panes + 2;
    this.paneMs = paneMs;
  }

  get used(): number {
    return this.#given - this.#free.length;
  }

  take(): number {
    const known = this.#free.pop();
    if (known !== undefined) return known;
    if (this.#given === this.#blocks.length * ROWS_PER_BLOCK)
      this.#blocks.push(new Float64Array(ROWS_PER_BLOCK * this.length));
    return this.#given++;
  }

  /** Frees a row. It must not be used any more. */
  release(row: number): void {
    this.clear(row);
    this.#free.push(row);
  }

  clear(row: number): void {
    const at = this.#placeOf(row, 0);
    this.#blockOf(row).fill(0, at, at + this.length);
  }

  /** @param pane index: time / paneMs, an integer of at least 0 */
  get(row: number, pane: number): number {
    return this.#blockOf(row)[this.#placeOf(row, pane)]!;
  }

  set(row: number, pane: number, value: number): void {
    this.#blockOf(row)[this.#placeOf(row, pane)] = value;
  }

  add(row: number, pane: number, part: number): void {
    this.#blockOf(row)[this.#placeOf(row, pane)]! += part;
  }

  /** Sum of panes first..last in this order; at most `length` panes. */
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
