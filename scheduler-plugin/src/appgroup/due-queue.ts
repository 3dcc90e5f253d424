import { pause } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";

/** Keys that wait for their time, each once. */
export class DueQueue {
  readonly #clock: Clock;
  readonly #due = new Map<string, number>();
  #wake = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Due after `delayMs`, or earlier when it is so already. */
  add(key: string, delayMs: number): void {
    const dueMs = this.#clock.monotonic() + delayMs;
    if (dueMs >= (this.#due.get(key) ?? Number.POSITIVE_INFINITY)) return;
    this.#due.set(key, dueMs);
    this.#wake.abort();
  }

  /** The next key in the order of their times, when it is due; null when `signal` was aborted. */
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

/** Timers take no Infinity. */
const LONGEST_SLEEP_MS = 3_600_000;
