// Moves, cool-downs and budgets use the wall clock because they outlive a leader. A clock step must not
// extend them by years.
import type { Clock } from "@isochrone/runtime";

/** Smaller steps are clock slewing. */
const LEAST_STEP_MS = 1_000;

export class ClockSteps {
  readonly #clock: Clock;
  #aheadMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#aheadMs = clock.now() - clock.monotonic();
  }

  take(): number {
    const aheadMs = this.#clock.now() - this.#clock.monotonic();
    const stepMs = aheadMs - this.#aheadMs;
    if (Math.abs(stepMs) < LEAST_STEP_MS) return 0;
    this.#aheadMs = aheadMs;
    return stepMs;
  }
}
