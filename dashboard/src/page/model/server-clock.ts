/** Times of HTTP have whole seconds, rounded down. */
const SECOND_MS = 1_000;

/** The server's time by its answers: the clock of the browser's machine may be wrong, and may step. */
export class ServerClock {
  /** The server's wall milliseconds at 0 of the monotonic clock, at least; null: it has said no time. */
  #aheadMs: number | null = null;

  /** @param date of an answer */
  heard(date: string | null, monotonicMs: number): void {
    const aheadMs = Date.parse(date ?? "") - monotonicMs;
    if (Number.isNaN(aheadMs)) return;
    const before = this.#aheadMs ?? -Infinity;
    // Each answer narrows the second down, unless the server's own clock was set back.
    this.#aheadMs = before - aheadMs < SECOND_MS ? Math.max(before, aheadMs) : aheadMs;
  }

  /** Wall milliseconds. @param wallMs of this machine, for want of a better time */
  nowMs(monotonicMs: number, wallMs: number): number {
    return this.#aheadMs === null ? wallMs : this.#aheadMs + monotonicMs;
  }
}
