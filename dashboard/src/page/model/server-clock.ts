/** HTTP dates are rounded down to whole seconds. */
const SECOND_MS = 1_000;

/** The server's time from its answers: the browser's clock may be wrong or step. */
export class ServerClock {
  /** Lower bound of the server's wall time minus the monotonic clock, ms; null: unknown. */
  #aheadMs: number | null = null;

  heard(date: string | null, monotonicMs: number): void {
    const aheadMs = Date.parse(date ?? "") - monotonicMs;
    if (Number.isNaN(aheadMs)) return;
    const before = this.#aheadMs ?? -Infinity;
    // Each answer narrows the bound, unless the server's clock was set back.
    this.#aheadMs = before - aheadMs < SECOND_MS ? Math.max(before, aheadMs) : aheadMs;
  }

  nowMs(monotonicMs: number, wallMs: number): number {
    return this.#aheadMs === null ? wallMs : this.#aheadMs + monotonicMs;
  }
}
