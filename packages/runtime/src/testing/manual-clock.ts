import { EventQueue } from "@isochrone/primitives";
import type { Clock } from "../clock.ts";
import { sleepUntil } from "./sleep-until.ts";

/** A clock that stands still until a test moves it. Sleeps end in the order of their due times. */
export class ManualClock implements Clock {
  readonly #sleeps = new EventQueue();
  /** Wall time less the monotonic one. */
  #offsetMs: number;

  /** @param startMs wall time at the start, milliseconds since the epoch */
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

  /** How many sleeps have not ended. */
  get pending(): number {
    return this.#sleeps.size;
  }

  /**
   * Moves both times forward, stopping at every sleep that falls due so that the code behind it runs (and may
   * sleep again) before time goes on.
   */
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

  /** Steps the wall time alone, as a correction by NTP does; sleeps and `monotonic` don't notice. */
  stepWall(ms: number): void {
    this.#offsetMs += ms;
  }
}

// One turn of the event loop runs every promise callback that is ready, chains included.
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
