import { TokenBucket } from "@isochrone/primitives";

/**
 * Maximum unused budget after a pause, in seconds: enough for a busy machine, without a flood after a long
 * pause.
 */
const MAX_ARREARS_SECONDS = 3;

/** A budget of writes per second on average. The rate may change from call to call. */
export class WriteBudget {
  #bucket: TokenBucket | null = null;

  /** Consumes one write if the budget allows it at `nowMs` (monotonic). */
  take(nowMs: number, perSecond: number): boolean {
    const rate = { perSecond, burst: MAX_ARREARS_SECONDS * perSecond + 1 };
    this.#bucket ??= new TokenBucket(rate, nowMs, 1);
    this.#bucket.rate = rate;
    return this.#bucket.take(nowMs);
  }
}
