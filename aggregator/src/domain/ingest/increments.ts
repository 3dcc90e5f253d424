import type { CounterTracks, Increment, Series } from "@isochrone/telemetry";
import type { PointTime } from "../point-time.ts";
import type { Sink, Unused } from "./sink.ts";

/** Track id of a delta series, in which each point is an increment. */
const DELTA = -2;
const NO_TRACK = -1;
const RELEASED = -3;

/**
 * Puts increments of one series on the aggregator's time line. Cumulative series are tracked on the source's
 * clock, which keeps start times comparable, and shifted afterwards. A step of that clock starts a new track.
 */
export abstract class IncrementSink implements Sink {
  readonly #tracks: CounterTracks;
  #track: number;
  #clockGeneration = 0;
  #life = 0;

  constructor(series: Series, tracks: CounterTracks) {
    this.#tracks = tracks;
    this.#track = series.temporality === "delta" ? DELTA : NO_TRACK;
  }

  abstract get live(): boolean;

  protected abstract take(increment: Increment): void;

  get unused(): Unused | null {
    return null;
  }

  number(point: PointTime, value: number): void {
    this.observe(point, point.startMs, value);
  }

  get isReleased(): boolean {
    return this.#track === RELEASED;
  }

  /** Adds the increment that a missing counter probably had, see {@link CounterTracks.end}. */
  endIfMissing({
    timeMs,
    offsetMs,
    clockGeneration,
  }: Pick<PointTime, "timeMs" | "offsetMs" | "clockGeneration">): void {
    if (this.#track < 0 || this.#clockGeneration !== clockGeneration || !this.live) return;
    const increment = this.#tracks.end(this.#track, timeMs);
    if (increment !== null) this.take(shifted(increment, offsetMs));
  }

  release(): void {
    if (this.#track >= 0) this.#tracks.release(this.#track);
    this.#track = RELEASED;
  }

  /** @param startMs start of the counter on the source's clock; 0: unknown */
  protected observe(point: PointTime, startMs: number, value: number): void {
    const increment =
      this.#track === DELTA ? deltaIncrement(point, value) : this.#next(point, startMs, value);
    if (increment !== null) this.take(increment);
  }

  #next(point: PointTime, startMs: number, value: number): Increment | null {
    const { timeMs, offsetMs, clockGeneration, life = 0 } = point;
    const tracks = this.#tracks;
    if (this.#track === NO_TRACK) this.#track = tracks.take();
    else if (this.#clockGeneration !== clockGeneration) tracks.clear(this.#track);
    this.#clockGeneration = clockGeneration;
    const increment =
      this.#life === life
        ? tracks.observe(this.#track, startMs, timeMs, value)
        : tracks.observeAnew(this.#track, startMs, timeMs, value);
    this.#life = life;
    return increment === null ? null : shifted(increment, offsetMs);
  }
}

function shifted(increment: Increment, offsetMs: number): Increment {
  if (offsetMs === 0) return increment;
  const { fromMs, toMs, delta, reset } = increment;
  return { fromMs: fromMs + offsetMs, toMs: toMs + offsetMs, delta, reset };
}

function deltaIncrement(point: PointTime, value: number): Increment {
  const known = point.startMs > 0 && point.startMs <= point.timeMs;
  const fromMs = known ? point.startMs + point.offsetMs : point.eventMs;
  return { fromMs, toMs: point.eventMs, delta: value, reset: false };
}
