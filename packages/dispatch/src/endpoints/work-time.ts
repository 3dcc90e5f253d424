/** Requests of a Service take this long or less in this share: what they take when nothing waits. */
const SHARE = 0.3;
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

  /** @param ms of an answer that is no failure, without the round trip */
  answered(ms: number): void {
    const took = Math.max(LEAST_MS, ms);
    if (this.#ms === null) this.#ms = took;
    else this.#ms *= took < this.#ms ? 1 - STEP * (1 - SHARE) : 1 + STEP * SHARE;
    this.#ms = Math.max(LEAST_MS, this.#ms);
  }
}
