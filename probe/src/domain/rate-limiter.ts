import { TokenBucket, type TokenRate } from "@isochrone/primitives";

/**
 * One token bucket per source, in a table of bounded size: when it is full, the source not heard of for
 * longest makes room. (A forgotten source starts with a full bucket, so a flood of invented sources can't
 * shut out real ones.)
 */
export class RateLimiter {
  readonly #rate: TokenRate;
  readonly #maxSources: number;
  /** Ordered by last use: the first entry is the one to forget. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(perSecond: number, burst: number, maxSources: number) {
    this.#rate = { perSecond, burst };
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
