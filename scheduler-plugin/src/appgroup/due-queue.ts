import { pause } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";

export class DueQueue {
  readonly #clock: Clock;
  readonly #due = new Map<string, number>();
  #wake = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Makes the key due after `delayMs`, or keeps an earlier due time. */
  add(key: string, delayMs: number): void {
    const dueMs = this.#clock.monotonic() + delayMs;
    if (dueMs >= (this.#due.get(key) ?? Number.POSITIVE_INFINITY)) return;
    this.#due.set(key, dueMs);
    this.#wake.abort();
  }

  async next(signal: AbortSignal): Promise<string | null> {
    while (!signal.aborted) {
      const [key, dueMs] = this.#first();
      const waitMs = dueMs - this.#clock.monotonic();
      if (key !== null && waitMs <= 0) {
        this.#due.delete(key);
        return key;
      }
      this.#wake = new AbortController();
      await pause(
        this.#clock,
        Math.min(waitMs, LONGEST_SLEEP_MS),
        AbortSignal.any([signal, this.#wake.signal]),
      );
    }
    return null;
  }

  #first(): [string | null, number] {
    let first: [string | null, number] = [null, Number.POSITIVE_INFINITY];
    for (const entry of this.#due) {
      if (entry[1] < first[1]) first = entry;
    }
    return first;
  }
}

/** Timers don't accept Infinity. */
const LONGEST_SLEEP_MS = 3_600_000;
