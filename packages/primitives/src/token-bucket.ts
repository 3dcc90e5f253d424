export interface TokenRate {
  readonly perSecond: number;
  /** What may be taken at once after a quiet time. */
  readonly burst: number;
}

/**
 * Permits at a rate, some at once after a quiet time. The caller has the clock: times are monotonic, in
 * milliseconds.
 */
export class TokenBucket {
  /** May change between calls. */
  rate: TokenRate;
  #tokens: number;
  #atMs: number;

  /** @param tokens at the start. @default the burst */
  constructor(rate: TokenRate, nowMs: number, tokens = rate.burst) {
    this.rate = rate;
    this.#tokens = tokens;
    this.#atMs = nowMs;
  }

  isEmpty(nowMs: number): boolean {
    const { perSecond, burst } = this.rate;
    const refill = Math.max(0, nowMs - this.#atMs) * (perSecond / 1000);
    this.#tokens = Math.min(burst, this.#tokens + refill);
    this.#atMs = nowMs;
    return this.#tokens < 1;
  }

  /** Takes a token; false when none is left. */
  take(nowMs: number): boolean {
    if (this.isEmpty(nowMs)) return false;
    this.#tokens--;
    return true;
  }
}
