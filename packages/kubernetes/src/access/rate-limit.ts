import { BoundedMap, TokenBucket, type TokenRate } from "@isochrone/primitives";

/** Part of the whole rate that one address may use: a flood from one place leaves the others theirs. */
const ADDRESS_SHARE = 0.25;
/** Seconds' worth that may come at once. */
const BURST_SECONDS = 2;
const MAX_ADDRESSES = 4_096;

/** So many reviews of unknown tokens per second, and of these a part for each remote address. */
export class ReviewRate {
  readonly #share: TokenRate;
  readonly #all: TokenBucket;
  readonly #addresses = new BoundedMap<TokenBucket>(MAX_ADDRESSES);

  constructor(perSecond: number) {
    this.#share = rateOf(perSecond * ADDRESS_SHARE);
    // Full, whatever the time is at the first review.
    this.#all = new TokenBucket(rateOf(perSecond), Number.NEGATIVE_INFINITY);
  }

  /** Takes one; false: not now. Time is monotonic. */
  take(address: string, nowMs: number): boolean {
    const own = this.#addresses.get(address) ?? new TokenBucket(this.#share, nowMs);
    this.#addresses.set(address, own);
    if (own.isEmpty(nowMs) || this.#all.isEmpty(nowMs)) return false;
    own.take(nowMs);
    this.#all.take(nowMs);
    return true;
  }
}

function rateOf(perSecond: number): TokenRate {
  return { perSecond, burst: Math.max(1, perSecond * BURST_SECONDS) };
}
