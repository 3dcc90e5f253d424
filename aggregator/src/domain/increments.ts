import { CounterTrack, type Increment, type Series } from "@isochrone/telemetry";
import type { PointTime } from "./point-time.ts";

/**
 * Increments of one series on the aggregator's time line. Cumulative series are tracked on their source's own clock, which
 * keeps their start times comparable, and shifted afterwards; a step of that clock begins a new track.
 */
export class IncrementSource {
  readonly #delta: boolean;
  readonly #maxFirstSpanMs: number;
  #track: CounterTrack | null = null;
  #clockGeneration = 0;

  constructor(series: Series, maxFirstSpanMs: number) {
    this.#delta = series.temporality === "delta";
    this.#maxFirstSpanMs = maxFirstSpanMs;
  }

  /** Null: a baseline, or nothing new. */
  next(point: PointTime, value: number): Increment | null {
    if (this.#delta) return deltaIncrement(point, value);
    if (this.#track === null || this.#clockGeneration !== point.clockGeneration) {
      this.#track = new CounterTrack({ maxFirstSpanMs: this.#maxFirstSpanMs });
      this.#clockGeneration = point.clockGeneration;
    }
    const increment = this.#track.observe(point.startMs, point.timeMs, value);
    if (increment === null || point.offsetMs === 0) return increment;
    const { fromMs, toMs, delta, reset } = increment;
    return { fromMs: fromMs + point.offsetMs, toMs: toMs + point.offsetMs, delta, reset };
  }
}

function deltaIncrement(point: PointTime, value: number): Increment {
  const known = point.startMs > 0 && point.startMs <= point.timeMs;
  const fromMs = known ? point.startMs + point.offsetMs : point.eventMs;
  return { fromMs, toMs: point.eventMs, delta: value, reset: false };
}
