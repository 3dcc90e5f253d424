/** What may be made up for after a pause, in seconds: a busy machine must not lose its budget, and nobody is flooded after a long one. */
const MAX_ARREARS_SECONDS = 3;

/** A budget of so much per second on average. The rate may change from call to call. */
export class TokenBucket {
  #tokens = 1;
  #lastMs: number | null = null;

  /** Whether one more is allowed at `nowMs` (monotonic). */
  take(nowMs: number, perSecond: number): boolean {
    const passedSeconds = this.#lastMs === null ? 0 : Math.max(0, nowMs - this.#lastMs) / 1000;
    this.#lastMs = nowMs;
    this.#tokens = Math.min(MAX_ARREARS_SECONDS * perSecond + 1, this.#tokens + passedSeconds * perSecond);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
