import type { WindowShape } from "./window-shape.ts";

/**
 * Sums by pane in a ring. One pane more than the window has, because event times may lie one pane ahead.
 * About 8 bytes a pane: for counters, where the sparse Window of objects would cost ten times that.
 */
export class SumPanes {
  readonly #paneMs: number;
  readonly #sums: Float64Array;
  /** Index (time / paneMs) of the newest pane in the ring. */
  #newest = -1;

  constructor(shape: WindowShape) {
    this.#paneMs = shape.paneMs;
    this.#sums = new Float64Array(shape.panes + 2);
  }

  /** What lies before the ring is left out. */
  add(paneStartMs: number, part: number): void {
    const pane = Math.round(paneStartMs / this.#paneMs);
    const length = this.#sums.length;
    if (pane > this.#newest) this.#advance(pane);
    else if (pane <= this.#newest - length) return;
    this.#sums[pane % length]! += part;
  }

  /**
   * Sum of the newest `panes` panes that end with the pane of `nowMs`, and of one ahead of it, if there is one.
   * @param beforeMs panes that begin there or later are left out
   */
  total(nowMs: number, panes: number, beforeMs: number = Number.POSITIVE_INFINITY): number {
    const last = Math.min(this.#newest, Math.ceil(beforeMs / this.#paneMs) - 1);
    const first = Math.max(
      Math.floor(nowMs / this.#paneMs) - panes + 1,
      this.#newest - this.#sums.length + 1,
    );
    let sum = 0;
    for (let pane = first; pane <= last; pane++) sum += this.#sums[pane % this.#sums.length]!;
    return sum;
  }

  #advance(pane: number): void {
    const length = this.#sums.length;
    if (this.#newest < 0 || pane - this.#newest >= length) this.#sums.fill(0);
    else for (let next = this.#newest + 1; next <= pane; next++) this.#sums[next % length] = 0;
    this.#newest = pane;
  }
}
