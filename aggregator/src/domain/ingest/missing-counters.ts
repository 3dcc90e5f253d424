import type { IncrementSink } from "./increments.ts";
import type { PointTime } from "../point-time.ts";

/**
 * How often the counters of one source are looked through, by its own clock: well below the shortest interval
 * of scrapes that is usual.
 */
const LOOK_EVERY_MS = 3_000;

interface Counters {
  sinks: IncrementSink[];
  /** On the source's clock. */
  lookedMs: number;
}

/**
 * Tells counters that their source has stopped to speak of them, though it goes on to speak of others: a pod
 * is gone. What it did after its last scrape nobody will read. It is decided by what records say alone, and
 * not by when they came: a replay decides the same.
 */
export class MissingCounters {
  readonly #maxSources: number;
  readonly #bySource = new Map<string, Counters>();

  /** @param maxSources beyond them the least recently heard are forgotten: their counters end without that */
  constructor(maxSources: number) {
    this.#maxSources = maxSources;
  }

  add(source: string, sink: IncrementSink): void {
    const known = this.#bySource.get(source);
    if (known !== undefined) known.sinks.push(sink);
    else this.#open(source, sink);
  }

  /**
   * At the end of a record: ends counters that it, and others before, ought to have told of.
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
