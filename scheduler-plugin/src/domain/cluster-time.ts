import type { Clock } from "@isochrone/runtime";

/** The time of the stamps of the API server's objects, whatever the clock of this machine says. */
export class ClusterTime {
  readonly #clock: Pick<Clock, "monotonic">;
  /** Wall milliseconds at 0 of the monotonic clock. */
  #aheadMs = -Infinity;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Milliseconds since the stamp, at least; 0 for the newest stamp when it is first seen. */
  ageMs(stampMs: number): number {
    const nowMs = this.#clock.monotonic();
    this.#aheadMs = Math.max(this.#aheadMs, stampMs - nowMs);
    return nowMs + this.#aheadMs - stampMs;
  }
}
