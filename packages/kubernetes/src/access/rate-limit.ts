import { BoundedMap, TokenBucket, type TokenRate } from "@isochrone/primitives";

/** Share of the rate for one address, so that a flood from one place leaves room for others. */
const ADDRESS_SHARE = 0.25;
/** Burst size, in seconds' worth of requests. */
const BURST_SECONDS = 2;
const MAX_ADDRESSES = 4_096;

/** Limits reviews of unknown tokens, in total and per remote address. */
export class ReviewRate {
  readonly #share: TokenRate;
  readonly #all: TokenBucket;
  readonly #addresses = new BoundedMap<TokenBucket>(MAX_ADDRESSES);

  constructor(perSecond: number) {
    this.#share = rateOf(perSecond * ADDRESS_SHARE);
    this.#all = new TokenBucket(rateOf(perSecond), Number.NEGATIVE_INFINITY);
  }

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
