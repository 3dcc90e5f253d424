import { BoundedMap } from "./bounded-map.ts";

/** A token bucket. */
interface Bucket {
  /** What is left at `atMs`. */
  left: number;
  atMs: number;
}

/** Part of the whole rate that one address may use: a flood from one place leaves the others theirs. */
const ADDRESS_SHARE = 0.25;
/** Seconds' worth that may come at once. */
const BURST_SECONDS = 2;
const MAX_ADDRESSES = 4_096;

/** So many reviews of unknown tokens per second, and of these a part for each remote address. */
export class ReviewRate {
  readonly #perSecond: number;
  readonly #all: Bucket;
  readonly #addresses = new BoundedMap<Bucket>(MAX_ADDRESSES);

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#all = { left: perSecond * BURST_SECONDS, atMs: Number.NEGATIVE_INFINITY };
  }

  /** Takes one; false: not now. Time is monotonic. */
  take(address: string, nowMs: number): boolean {
    const share = this.#perSecond * ADDRESS_SHARE;
    const own = this.#addresses.get(address) ?? { left: burstOf(share), atMs: nowMs };
    this.#addresses.set(address, own);
    refill(own, share, nowMs);
    refill(this.#all, this.#perSecond, nowMs);
    if (own.left < 1 || this.#all.left < 1) return false;
    own.left -= 1;
    this.#all.left -= 1;
    return true;
  }
}

function burstOf(perSecond: number): number {
  return Math.max(1, perSecond * BURST_SECONDS);
}

function refill(bucket: Bucket, perSecond: number, nowMs: number): void {
  const gained = ((nowMs - bucket.atMs) / 1000) * perSecond;
  bucket.left = Math.min(burstOf(perSecond), bucket.left + gained);
  bucket.atMs = nowMs;
}
