import { backoffMs, type BackoffGrowth } from "@isochrone/primitives";
import type { Clock } from "@isochrone/runtime";

/** A kubelet's backoff, at the lab's pace. */
const GROWTH: BackoffGrowth = { initialMs: 1_000, maxMs: 30_000, factor: 2 };
const SOUND_AFTER_MS = 60_000;

/** Backoff before restarting a process that ended by itself; grows with consecutive crashes. */
export class RestartPauses {
  readonly #clock: Clock;
  readonly #growth: BackoffGrowth;
  #crashes = 0;
  #startedMs: number;

  constructor(clock: Clock, growth: BackoffGrowth = GROWTH) {
    this.#clock = clock;
    this.#growth = growth;
    this.#startedMs = clock.monotonic();
  }

  started(): void {
    this.#startedMs = this.#clock.monotonic();
  }

  next(): number {
    const isSound = this.#clock.monotonic() - this.#startedMs > SOUND_AFTER_MS;
    this.#crashes = isSound ? 1 : this.#crashes + 1;
    return backoffMs(this.#growth, this.#crashes);
  }
}
