import {
  MetricsDecoder,
  type ExponentialHistogramData,
  type MetricsVisitor,
  type Series,
} from "@isochrone/telemetry";
import { bindProbe } from "../ingest/bind-probe.ts";
import { UNUSED_SINKS, type Sink } from "../ingest/sink.ts";
import type { Tables } from "../graphs/tables.ts";
import { bindPane } from "./bind-pane.ts";

/** As in Ingest. */
const SERIES_WINDOWS = 2;

/** Reads deltas of other replicas into the windows. */
export class DeltaReader implements MetricsVisitor {
  readonly #tables: Tables;
  readonly #decoder: MetricsDecoder;
  /** The point in hand; its object is reused. */
  readonly #point = { startMs: 0, timeMs: 0, eventMs: 0, offsetMs: 0, clockGeneration: 0, nowMs: 0 };
  #refused = 0;
  /** When series were last looked for that had no point. */
  #sweptMs = Number.NaN;

  constructor(tables: Tables, maxSeries: number) {
    this.#tables = tables;
    this.#decoder = new MetricsDecoder({ maxSeries, readsSums: true });
  }

  /**
   * Points that could not be used: there were too many entities, or another version wrote them. Only grows.
   */
  get refusedPoints(): number {
    return this.#refused;
  }

  /** Series in memory. */
  get series(): number {
    return this.#decoder.seriesCount;
  }

  /** @throws OtlpError when the bytes make no sense */
  read(bytes: Uint8Array, nowMs: number): void {
    this.#point.nowMs = nowMs;
    if (!(nowMs - this.#sweptMs < this.#tables.shape.windowMs)) {
      this.#decoder.forgetUnused(SERIES_WINDOWS);
      this.#sweptMs = nowMs;
    }
    this.#decoder.decode(bytes, this);
  }

  number(series: Series, startMs: number, timeMs: number, value: number): void {
    const sink = this.#open(series, startMs, timeMs);
    if (sink.number === undefined) this.#refused++;
    else sink.number(this.#point, value);
  }

  histogram(series: Series, startMs: number, timeMs: number, count: number, sum: number): void {
    const sink = this.#open(series, startMs, timeMs);
    if (sink.histogram === undefined) this.#refused++;
    else sink.histogram(this.#point, count, sum);
  }

  exponentialHistogram(
    series: Series,
    startMs: number,
    timeMs: number,
    data: ExponentialHistogramData,
  ): void {
    const sink = this.#open(series, startMs, timeMs);
    if (sink.exponentialHistogram === undefined) this.#refused++;
    else if (!sink.exponentialHistogram(this.#point, data)) this.#refused++;
  }

  refused(): void {
    this.#refused++;
  }

  #open(series: Series, startMs: number, timeMs: number): Sink {
    const point = this.#point;
    point.startMs = startMs;
    point.timeMs = timeMs;
    point.eventMs = timeMs;
    const known = series.state as Sink | undefined;
    if (known !== undefined && known.live && known.unused === null) return known;
    const sink =
      bindProbe(series, this.#tables) ?? bindPane(series, this.#tables) ?? UNUSED_SINKS.unknown_metric;
    series.state = sink;
    return sink;
  }
}
