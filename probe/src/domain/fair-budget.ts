import { TokenBucket } from "@isochrone/primitives";

const MEMORY_MS = 500;
/** Share of the budget for the lottery. The bucket stays filled, so that chance decides, not timing. */
const LOTTERY_SHARE = 0.9;

/**
 * A budget that a flood cannot exhaust. A token bucket serves whoever comes first, so a flood ahead of all
 * others takes every token. Here each arrival has the same probability, budget / arrival rate, so retrying
 * callers get in.
 */
export class FairBudget {
  readonly #perSecond: number;
  readonly #bucket: TokenBucket;
  readonly #random: () => number;
  #arrivalsPerSecond = 0;
  #atMs: number;

  constructor(perSecond: number, burst: number, random: () => number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#bucket = new TokenBucket({ perSecond, burst }, nowMs);
    this.#random = random;
    this.#atMs = nowMs;
  }

  take(nowMs: number): boolean {
    const passedMs = Math.max(0, nowMs - this.#atMs);
    this.#atMs = nowMs;
    this.#arrivalsPerSecond = this.#arrivalsPerSecond * Math.exp(-passedMs / MEMORY_MS) + 1000 / MEMORY_MS;
    const spent = this.#perSecond * LOTTERY_SHARE;
    if (this.#arrivalsPerSecond > spent && this.#random() * this.#arrivalsPerSecond >= spent) return false;
    return this.#bucket.take(nowMs);
  }
}
