import { EventQueue } from "@isochrone/primitives/algorithms";
import type { Clock } from "@isochrone/runtime";
import { sleepUntil } from "@isochrone/runtime/testing";

/** Jumps from sleep to sleep and advances while code runs, so that time-limited searches end. */
export class ModelClock implements Clock {
  readonly #startMs: number;
  readonly #sleeps = new EventQueue();
  #baseMs = 0;
  #baseAt = performance.now();

  /** @param startMs wall time at the start, Unix ms */
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
    return sleepUntil(this.#sleeps, this.monotonic() + Math.max(0, ms), signal);
  }

  async advanceTo(targetMs: number): Promise<void> {
    await turn();
    for (let dueMs = this.#sleeps.nextAt; dueMs <= targetMs; dueMs = this.#sleeps.nextAt) {
      this.#moveTo(dueMs);
      this.#sleeps.step();
      await turn();
    }
    this.#moveTo(targetMs);
  }

  /** Never goes backwards: code that ran long has used up its time. */
  #moveTo(monotonicMs: number): void {
    this.#baseMs = Math.max(this.monotonic(), monotonicMs);
    this.#baseAt = performance.now();
  }
}

/** One turn of the event loop runs every ready promise callback, including chains. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
