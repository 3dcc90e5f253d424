// Moves, cool-downs and budgets are kept by the wall clock, because they outlive a leader. A clock that is
// set must not make them last for years.
import type { Clock } from "@isochrone/runtime";

/** Smaller steps are corrections of a clock that runs. */
const LEAST_STEP_MS = 1_000;

/** Notices that the wall clock was set. */
export class ClockSteps {
  readonly #clock: Clock;
  #aheadMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#aheadMs = clock.now() - clock.monotonic();
  }

  /** Returns by how many milliseconds the clock was set since the last call; 0: it was not set. */
  take(): number {
    const aheadMs = this.#clock.now() - this.#clock.monotonic();
    const stepMs = aheadMs - this.#aheadMs;
    if (Math.abs(stepMs) < LEAST_STEP_MS) return 0;
    this.#aheadMs = aheadMs;
    return stepMs;
  }
}
