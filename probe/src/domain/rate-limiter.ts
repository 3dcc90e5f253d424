/** Tokens that come back at a rate, up to a bound. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #atMs: number;

  /** Starts full. */
  constructor(perSecond: number, burst: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#atMs = nowMs;
  }

  /** Takes a token; false when none is left. */
  take(nowMs: number): boolean {
    const refill = ((nowMs - this.#atMs) / 1000) * this.#perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, refill));
    this.#atMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}

/**
 * One token bucket per source, in a table of bounded size: when it is full, the source not heard of for longest makes room.
 * (A forgotten source starts with a full bucket, so a flood of invented sources can't shut out real ones.)
 */
export class RateLimiter {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #maxSources: number;
  /** Ordered by last use: the first entry is the one to forget. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(perSecond: number, burst: number, maxSources: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#maxSources = maxSources;
  }

  /** How many sources are remembered. */
  get sources(): number {
    return this.#buckets.size;
  }

  /** Takes a token; false when the source has none left. */
  admit(source: string, nowMs: number): boolean {
    const known = this.#buckets.get(source);
    if (known !== undefined) this.#buckets.delete(source);
    else if (this.#buckets.size >= this.#maxSources) this.#forgetOldest();
    const bucket = known ?? new TokenBucket(this.#perSecond, this.#burst, nowMs);
    this.#buckets.set(source, bucket);
    return bucket.take(nowMs);
  }

  #forgetOldest(): void {
    for (const source of this.#buckets.keys()) {
      this.#buckets.delete(source);
      return;
    }
  }
}
