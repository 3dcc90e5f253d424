/**
 * A change of the offset by more than this is a step of the source's clock, not a change of the way's delay.
 */
const CLOCK_STEP_MS = 10_000;
/** Among so many records one was hardly delayed; after as many a clock that has gone slow is believed. */
const RECENT_RECORDS = 8;

/** What is known of one source's clock. */
export interface SourceClock {
  /**
   * Arrival - sent-at, ms: clock error plus the delay of the way. The least of its newest records, as only
   * the delay varies from one to the next: with its own, each record's samples would be moved in time by what
   * the way was busy.
   */
  readonly offsetMs: number;
  /** Grows with each step. */
  readonly generation: number;
  /** Grows each time the source restarts. */
  readonly life: number;
}

class Clock implements SourceClock {
  /** Oldest first. */
  #recent: number[] = [];
  offsetMs = 0;
  generation = 0;
  life = 0;
  #epoch: string | null = null;

  observe(newestMs: number, epoch: string): void {
    if (this.#epoch !== null && this.#epoch !== epoch) this.life++;
    this.#epoch = epoch;
    const isStep = this.#recent.length > 0 && Math.abs(newestMs - this.offsetMs) > CLOCK_STEP_MS;
    if (isStep) {
      this.generation++;
      this.#recent = [];
    }
    if (this.#recent.length === RECENT_RECORDS) this.#recent.shift();
    this.#recent.push(newestMs);
    this.offsetMs = Math.min(...this.#recent);
  }
}

/** Clock offsets of the sources, the least recently heard forgotten beyond `maxSources`. */
export class SourceClocks {
  readonly #maxSources: number;
  readonly #clocks = new Map<string, Clock>();

  constructor(maxSources: number) {
    this.#maxSources = maxSources;
  }

  /** @param epoch of the source's life */
  observe(source: string, sentAtMs: number, arrivedAtMs: number, epoch = ""): SourceClock {
    const clock = this.#clocks.get(source) ?? new Clock();
    clock.observe(arrivedAtMs - sentAtMs, epoch);
    this.#clocks.delete(source);
    this.#clocks.set(source, clock);
    if (this.#clocks.size > this.#maxSources) this.#clocks.delete(this.#clocks.keys().next().value!);
    return clock;
  }

  entries(): IterableIterator<[string, SourceClock]> {
    return this.#clocks.entries();
  }
}
