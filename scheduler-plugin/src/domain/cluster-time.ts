import type { Clock } from "@isochrone/runtime";

/** Clock of the API server's timestamps, independent of the local wall clock. */
export class ClusterTime {
  readonly #clock: Pick<Clock, "monotonic">;
  #aheadMs = -Infinity;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Least time since the stamp; 0 for the newest stamp at first sight. */
  ageMs(stampMs: number): number {
    const nowMs = this.#clock.monotonic();
    this.#aheadMs = Math.max(this.#aheadMs, stampMs - nowMs);
    return nowMs + this.#aheadMs - stampMs;
  }
}
