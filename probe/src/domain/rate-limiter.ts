import { TokenBucket, type TokenRate } from "@isochrone/primitives";

/**
 * One token bucket per source, in a table of bounded size that evicts the least recently used source. A
 * forgotten source starts with a full bucket, so invented sources cannot shut out real ones.
 */
export class RateLimiter {
  readonly #rate: TokenRate;
  readonly #maxSources: number;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(perSecond: number, burst: number, maxSources: number) {
    this.#rate = { perSecond, burst };
    this.#maxSources = maxSources;
  }

  get sources(): number {
    return this.#buckets.size;
  }

  admit(source: string, nowMs: number): boolean {
    const known = this.#buckets.get(source);
    if (known !== undefined) this.#buckets.delete(source);
    else if (this.#buckets.size >= this.#maxSources) this.#forgetOldest();
    const bucket = known ?? new TokenBucket(this.#rate, nowMs);
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
