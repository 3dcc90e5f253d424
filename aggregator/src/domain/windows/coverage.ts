import type { WindowShape } from "./window-shape.ts";
import { windowStartMs } from "./window-shape.ts";

/**
 * Covered time of an entity's counters, the denominator of its rate:
 *
 *     increments in the window / (newest sample - max(start of the window, start of the first increment))
 *
 * The window's length would be wrong: the last sample lags by up to a scrape interval, and new entities have
 * no earlier data. Increments are split over panes, so both parts exclude the time before the window.
 */
export class Coverage {
  #firstMs = Number.POSITIVE_INFINITY;
  #newestMs = Number.NEGATIVE_INFINITY;

  /** Time of the newest sample; -Infinity: none. */
  get newestMs(): number {
    return this.#newestMs;
  }

  /** Restarts after a silence of a whole window. */
  extend(fromMs: number, toMs: number, windowMs: number): void {
    if (fromMs - this.#newestMs > windowMs) this.#firstMs = fromMs;
    else if (fromMs < this.#firstMs) this.#firstMs = fromMs;
    if (toMs > this.#newestMs) this.#newestMs = toMs;
  }

  /**
   * Like {@link seconds}, but ends where all counters within the lag have data. Beyond that point only some
   * counters have been scraped, and a sum would be too low. Returns the whole coverage if that leaves
   * nothing.
   */
  settled(
    shape: WindowShape,
    nowMs: number,
    panes: number,
  ): { readonly seconds: number; readonly beforeMs: number } {
    const { paneMs, counterLagMs = 0 } = shape;
    const seconds = this.seconds(shape, nowMs, panes);
    if (counterLagMs === 0 || seconds === 0) return { seconds, beforeMs: Number.POSITIVE_INFINITY };
    const beforeMs = Math.floor((this.#newestMs - counterLagMs) / paneMs) * paneMs;
    const startMs = Math.max(windowStartMs(shape, nowMs, panes), this.#firstMs);
    return beforeMs - startMs >= paneMs
      ? { seconds: (beforeMs - startMs) / 1000, beforeMs }
      : { seconds, beforeMs: Number.POSITIVE_INFINITY };
  }

  /** Covered seconds of the window; 0: no samples. */
  seconds(shape: WindowShape, nowMs: number, panes: number): number {
    const startMs = Math.max(windowStartMs(shape, nowMs, panes), this.#firstMs);
    return Math.max(0, this.#newestMs - startMs) / 1000;
  }
}
