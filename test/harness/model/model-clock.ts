import type { Clock } from "@isochrone/runtime";

interface Sleeper {
  readonly dueMs: number;
  readonly order: number;
  readonly wake: () => void;
}

/**
 * Emulated time that jumps from sleep to sleep, and goes on by itself while code runs: searches that are
 * limited in time end as they do in a real process.
 */
export class ModelClock implements Clock {
  readonly #startMs: number;
  #baseMs = 0;
  #baseAt = performance.now();
  #order = 0;
  #sleepers: Sleeper[] = [];

  /** @param startMs wall time at the start, milliseconds since the epoch */
  constructor(startMs = Date.parse("2026-01-01T00:00:00Z")) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.monotonic();
  }

  monotonic(): number {
    return this.#baseMs + (performance.now() - this.#baseAt);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      const onAbort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        dueMs: this.monotonic() + Math.max(0, ms),
        order: this.#order++,
        wake: () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#sleepers.push(sleeper);
      return undefined;
    });
  }

  /** Wakes all that is due until then, in order, and lets the code behind each sleep run. */
  async advanceTo(targetMs: number): Promise<void> {
    await turn();
    for (;;) {
      const next = this.#next(targetMs);
      if (next === undefined) break;
      this.#moveTo(next.dueMs);
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      next.wake();
      await turn();
    }
    this.#moveTo(targetMs);
  }

  #next(untilMs: number): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (sleeper.dueMs > untilMs) continue;
      const isEarlier =
        first === undefined ||
        sleeper.dueMs < first.dueMs ||
        (sleeper.dueMs === first.dueMs && sleeper.order < first.order);
      if (isEarlier) first = sleeper;
    }
    return first;
  }

  /** Never backwards: code that took long has used its time up. */
  #moveTo(monotonicMs: number): void {
    this.#baseMs = Math.max(this.monotonic(), monotonicMs);
    this.#baseAt = performance.now();
  }
}

/** One turn of the event loop runs every promise callback that is ready, chains included. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
