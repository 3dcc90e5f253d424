import { TokenBucket } from "@isochrone/primitives";

/** Maximum unused budget after a pause, in seconds; prevents a flood after a long pause. */
const MAX_ARREARS_SECONDS = 3;

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
