interface Bucket {
  tokens: number;
  atMs: number;
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
  readonly #buckets = new Map<string, Bucket>();

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
    const bucket = this.#touch(source, nowMs);
    const refill = ((nowMs - bucket.atMs) / 1000) * this.#perSecond;
    bucket.tokens = Math.min(this.#burst, bucket.tokens + Math.max(0, refill));
    bucket.atMs = nowMs;
    if (bucket.tokens < 1) return false;
    bucket.tokens--;
    return true;
  }

  #touch(source: string, nowMs: number): Bucket {
    const known = this.#buckets.get(source);
    if (known !== undefined) this.#buckets.delete(source);
    else if (this.#buckets.size >= this.#maxSources) this.#forgetOldest();
    const bucket = known ?? { tokens: this.#burst, atMs: nowMs };
    this.#buckets.set(source, bucket);
    return bucket;
  }

  #forgetOldest(): void {
    for (const source of this.#buckets.keys()) {
      this.#buckets.delete(source);
      return;
    }
  }
}
