import type { Clock } from "@isochrone/runtime";

export class RateLimit {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  readonly #burst: number;
  /** Time when the bucket is full again (generic cell rate algorithm). */
  #fullAtMs = 0;

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#clock = clock;
    this.#spacingMs = 1_000 / perSecond;
    this.#burst = burst;
  }

  /** Waits for the rate limit. Returns the wait, ms. */
  async pass(signal: AbortSignal): Promise<number> {
    const nowMs = this.#clock.monotonic();
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + this.#spacingMs;
    const waitMs = this.#fullAtMs - nowMs - this.#burst * this.#spacingMs;
    if (waitMs <= 0) return 0;
    await this.#clock.sleep(waitMs, signal);
    return waitMs;
  }
}
