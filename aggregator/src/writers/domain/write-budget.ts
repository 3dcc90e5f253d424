import { TokenBucket } from "@isochrone/primitives";

/**
 * What may be made up for after a pause, in seconds: a busy machine must not lose its budget, and nobody is
 * flooded after a long one.
 */
const MAX_ARREARS_SECONDS = 3;

/** A budget of so many writes per second on average. The rate may change from call to call. */
export class WriteBudget {
  #bucket: TokenBucket | null = null;

  /** Whether one more write is allowed at `nowMs` (monotonic). */
  take(nowMs: number, perSecond: number): boolean {
    const rate = { perSecond, burst: MAX_ARREARS_SECONDS * perSecond + 1 };
    this.#bucket ??= new TokenBucket(rate, nowMs, 1);
    this.#bucket.rate = rate;
    return this.#bucket.take(nowMs);
  }
}
