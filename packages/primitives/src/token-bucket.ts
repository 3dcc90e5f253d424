export interface TokenRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** A token bucket. The caller passes monotonic times in ms. */
export class TokenBucket {
  rate: TokenRate;
  #tokens: number;
  #atMs: number;

  /** @param tokens initially. @default the burst */
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

  take(nowMs: number): boolean {
    if (this.isEmpty(nowMs)) return false;
    this.#tokens--;
    return true;
  }
}
