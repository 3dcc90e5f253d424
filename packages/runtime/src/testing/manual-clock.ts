import { EventQueue } from "@isochrone/primitives/algorithms";
import type { Clock } from "../clock.ts";
import { sleepUntil } from "./sleep-until.ts";

/** A clock that tests advance. Sleeps end in order of their due times. */
export class ManualClock implements Clock {
  readonly #sleeps = new EventQueue();
  /** Wall time less the monotonic one. */
  #offsetMs: number;

  /** @param startMs Unix milliseconds */
  constructor(startMs = 1_700_000_000_000) {
    this.#offsetMs = startMs;
  }

  now(): number {
    return this.#offsetMs + this.monotonic();
  }

  monotonic(): number {
    return this.#sleeps.now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepUntil(this.#sleeps, this.monotonic() + Math.max(0, ms), signal);
  }

  get pending(): number {
    return this.#sleeps.size;
  }

  /** Advances both times, stopping at each due sleep so that its code runs before time continues. */
  async advance(ms: number): Promise<void> {
    const targetMs = this.monotonic() + ms;
    await settle();
    while (this.#sleeps.nextAt <= targetMs) {
      this.#sleeps.step();
      await settle();
    }
    this.#sleeps.runUntil(targetMs);
    await settle();
  }

  /** Steps wall time only, like an NTP correction; sleeps and `monotonic` are unaffected. */
  stepWall(ms: number): void {
    this.#offsetMs += ms;
  }
}

// One turn of the event loop runs all ready promise callbacks, including chains.
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
