/**
 * Where no other is under way, this share of answers takes that long or less; where others are, a part of it,
 * or work would seem to grow when all endpoints have queues.
 */
const SHARE = 0.4;
/** By how much an answer moves the estimate. */
const STEP = 0.05;
/** What is below is noise of schedulers, which would look like long waits. Milliseconds. */
const LEAST_MS = 1;

/** How long a Service's requests take without waiting: a quantile that follows its answers. */
export class WorkTime {
  #ms: number | null = null;

  /** Milliseconds; null: nothing was answered yet. */
  get ms(): number | null {
    return this.#ms;
  }

  /**
   * @param ms of an answer that is no failure, without the round trip
   * @param others own requests that were there when it was sent
   */
  answered(ms: number, others: number): void {
    const took = Math.max(LEAST_MS, ms);
    const share = SHARE / (1 + others);
    if (this.#ms === null) this.#ms = took;
    else this.#ms *= took < this.#ms ? 1 - STEP * (1 - share) : 1 + STEP * share;
    this.#ms = Math.max(LEAST_MS, this.#ms);
  }
}
