import type { PaneSums } from "@isochrone/telemetry";
import { NO_ROW, type PaneRows } from "./pane-rows.ts";

/** A ring with an extra pane, because event times may be one pane ahead. Call `release` to free it. */
export class SumPanes implements PaneSums {
  readonly #rows: PaneRows;
  #row = NO_ROW;
  /** Index (time / paneMs) of the newest pane in the ring. */
  #newest = -1;

  constructor(rows: PaneRows) {
    this.#rows = rows;
  }

  /** Ignores panes before the ring. */
  add(paneStartMs: number, part: number): void {
    const { paneMs, length } = this.#rows;
    const pane = Math.round(paneStartMs / paneMs);
    if (!(pane >= 0)) return;
    if (this.#row === NO_ROW) this.#row = this.#rows.take();
    if (pane > this.#newest) this.#advance(pane);
    else if (pane <= this.#newest - length) return;
    this.#rows.add(this.#row, pane, part);
  }

  /**
   * Sum of the newest `panes` panes up to the pane of `nowMs`, plus a pane ahead.
   * @param beforeMs excludes panes that start at or after it
   */
  total(nowMs: number, panes: number, beforeMs: number = Number.POSITIVE_INFINITY): number {
    if (this.#row === NO_ROW) return 0;
    const { paneMs, length } = this.#rows;
    const last = Math.min(this.#newest, Math.ceil(beforeMs / paneMs) - 1);
    const first = Math.max(0, Math.floor(nowMs / paneMs) - panes + 1, this.#newest - length + 1);
    return this.#rows.sum(this.#row, first, last);
  }

  release(): void {
    if (this.#row !== NO_ROW) this.#rows.release(this.#row);
    this.#row = NO_ROW;
    this.#newest = -1;
  }

  #advance(pane: number): void {
    const rows = this.#rows;
    if (this.#newest < 0 || pane - this.#newest >= rows.length) rows.clear(this.#row);
    else for (let next = this.#newest + 1; next <= pane; next++) rows.set(this.#row, next, 0);
    this.#newest = pane;
  }
}
