/** A change of the offset by more than this is a step of the source's clock, not a change of the way's delay. */
const CLOCK_STEP_MS = 10_000;

/** What is known of one source's clock. */
export interface SourceClock {
  /** Arrival - sent-at of its newest record, ms: clock error plus the delay of the way. */
  offsetMs: number;
  /** Grows with each step. */
  generation: number;
}

/** Clock offsets of the sources, the least recently heard forgotten beyond `maxSources`. */
export class SourceClocks {
  readonly #maxSources: number;
  readonly #clocks = new Map<string, SourceClock>();

  constructor(maxSources: number) {
    this.#maxSources = maxSources;
  }

  observe(source: string, sentAtMs: number, arrivedAtMs: number): SourceClock {
    const offsetMs = arrivedAtMs - sentAtMs;
    const clock = this.#clocks.get(source) ?? { offsetMs, generation: 0 };
    if (Math.abs(offsetMs - clock.offsetMs) > CLOCK_STEP_MS) clock.generation++;
    clock.offsetMs = offsetMs;
    this.#clocks.delete(source);
    this.#clocks.set(source, clock);
    if (this.#clocks.size > this.#maxSources) this.#clocks.delete(this.#clocks.keys().next().value!);
    return clock;
  }

  entries(): IterableIterator<[string, SourceClock]> {
    return this.#clocks.entries();
  }
}
