/** Larger changes of the offset are a step of the source's clock, not a change of the delay. */
const CLOCK_STEP_MS = 10_000;
/** Number of records of which one has nearly no delay. After as many, a slower clock is accepted. */
const RECENT_RECORDS = 8;

export interface SourceClock {
  /**
   * Arrival minus send time, ms: clock error plus delay. The minimum over the newest records, because only
   * the delay varies; a record's own offset would shift its samples by its delay.
   */
  readonly offsetMs: number;
  /** Increases with each step. */
  readonly generation: number;
  /** Increases with each restart of the source. */
  readonly life: number;
}

class Clock implements SourceClock {
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

/** Clock offsets by source. Beyond `maxSources` the least recently heard are forgotten. */
export class SourceClocks {
  readonly #maxSources: number;
  readonly #clocks = new Map<string, Clock>();

  constructor(maxSources: number) {
    this.#maxSources = maxSources;
  }

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
