import { TokenBucket } from "@isochrone/primitives";

/** Over which the rate of arrivals is estimated. Milliseconds. */
const MEMORY_MS = 500;
/**
 * Share of the budget that the lottery spends: the bucket stays filled, so that chance decides and not the
 * moment of arrival.
 */
const LOTTERY_SHARE = 0.9;

/**
 * A budget that a flood can't take as a whole. A token bucket gives its tokens to whoever comes first, and
 * one that is ahead of all others takes every one. Here each arrival has the same chance, the budget divided
 * by the rate of arrivals: whoever tries again gets in.
 */
export class FairBudget {
  readonly #perSecond: number;
  readonly #bucket: TokenBucket;
  /** From 0 to below 1. */
  readonly #random: () => number;
  #arrivalsPerSecond = 0;
  #atMs: number;

  constructor(perSecond: number, burst: number, random: () => number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#bucket = new TokenBucket({ perSecond, burst }, nowMs);
    this.#random = random;
    this.#atMs = nowMs;
  }

  /** Takes one; false when there is none for this arrival. */
  take(nowMs: number): boolean {
    const passedMs = Math.max(0, nowMs - this.#atMs);
    this.#atMs = nowMs;
    this.#arrivalsPerSecond = this.#arrivalsPerSecond * Math.exp(-passedMs / MEMORY_MS) + 1000 / MEMORY_MS;
    const spent = this.#perSecond * LOTTERY_SHARE;
    if (this.#arrivalsPerSecond > spent && this.#random() * this.#arrivalsPerSecond >= spent) return false;
    return this.#bucket.take(nowMs);
  }
}
