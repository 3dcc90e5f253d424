import { backoffMs, type BackoffGrowth } from "@isochrone/primitives";
import type { Clock } from "@isochrone/runtime";

/** Pauses of a kubelet, at the pace of the lab. */
const GROWTH: BackoffGrowth = { initialMs: 1_000, maxMs: 30_000, factor: 2 };
/** A run that was longer is sound: the next pause is the first one again. */
const SOUND_AFTER_MS = 60_000;

/** Pauses before a process that ended by itself is started again. Each crash in a row makes them longer. */
export class RestartPauses {
  readonly #clock: Clock;
  readonly #growth: BackoffGrowth;
  #crashes = 0;
  #startedMs: number;

  /** The process starts now. */
  constructor(clock: Clock, growth: BackoffGrowth = GROWTH) {
    this.#clock = clock;
    this.#growth = growth;
    this.#startedMs = clock.monotonic();
  }

  /** The process was started again. */
  started(): void {
    this.#startedMs = this.#clock.monotonic();
  }

  /** Milliseconds to wait; to be asked once for each crash. */
  next(): number {
    const isSound = this.#clock.monotonic() - this.#startedMs > SOUND_AFTER_MS;
    this.#crashes = isSound ? 1 : this.#crashes + 1;
    return backoffMs(this.#growth, this.#crashes);
  }
}
