import type { IncrementSink } from "./increments.ts";
import type { PointTime } from "../point-time.ts";

/** Interval of checks per source, on the source's clock; well below the usual scrape interval. */
const LOOK_EVERY_MS = 3_000;

interface Counters {
  sinks: IncrementSink[];
  lookedMs: number;
}

/**
 * Ends counters that are missing from their source's records while its other series continue: the pod is
 * gone. Uses only record contents and not arrival times, so that a replay decides the same.
 */
export class MissingCounters {
  readonly #maxSources: number;
  readonly #bySource = new Map<string, Counters>();

  /** @param maxSources beyond it, counters of the least recently heard end without a last increment */
  constructor(maxSources: number) {
    this.#maxSources = maxSources;
  }

  add(source: string, sink: IncrementSink): void {
    const known = this.#bySource.get(source);
    if (known !== undefined) known.sinks.push(sink);
    else this.#open(source, sink);
  }

  /**
   * Call at the end of a record.
   * @param newest time of the record's newest point
   */
  look(source: string, newest: Pick<PointTime, "timeMs" | "offsetMs" | "clockGeneration">): void {
    const counters = this.#bySource.get(source);
    if (counters === undefined || newest.timeMs < counters.lookedMs + LOOK_EVERY_MS) return;
    counters.lookedMs = newest.timeMs;
    for (const sink of counters.sinks) sink.endIfMissing(newest);
    if (counters.sinks.some(({ isReleased }) => isReleased))
      counters.sinks = counters.sinks.filter(({ isReleased }) => !isReleased);
    if (counters.sinks.length === 0) this.#bySource.delete(source);
  }

  #open(source: string, sink: IncrementSink): void {
    this.#bySource.set(source, { sinks: [sink], lookedMs: Number.NEGATIVE_INFINITY });
    if (this.#bySource.size > this.#maxSources) this.#bySource.delete(this.#bySource.keys().next().value!);
  }
}
