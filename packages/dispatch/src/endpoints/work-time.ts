/** Quantile of response times that counts as work; lower with concurrent requests, which add waiting. */
const SHARE = 0.4;
const STEP = 0.05;
/** Smaller times are scheduling noise, which would make waits look long. Milliseconds. */
const LEAST_MS = 1;

/** A Service's service time without waiting: a quantile that follows its responses. */
export class WorkTime {
  #ms: number | null = null;

  get ms(): number | null {
    return this.#ms;
  }

  /**
   * @param ms of a successful response, without the round trip
   * @param others own requests in flight when it was sent
   */
  answered(ms: number, others: number): void {
    const took = Math.max(LEAST_MS, ms);
    const share = SHARE / (1 + others);
    if (this.#ms === null) this.#ms = took;
    else this.#ms *= took < this.#ms ? 1 - STEP * (1 - share) : 1 + STEP * share;
    this.#ms = Math.max(LEAST_MS, this.#ms);
  }
}
