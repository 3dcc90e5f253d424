import {
  decodeHeaders,
  MetricsDecoder,
  OtlpError,
  SequenceTracker,
  type ExponentialHistogramData,
  type MetricsVisitor,
  type RecordIdentity,
  type Refusal,
  type Series,
} from "@isochrone/telemetry";
import { bindProbe } from "./bind-probe.ts";
import { bindTraffic } from "./bind-traffic.ts";
import { bindUsage } from "./bind-usage.ts";
import { DroppedReports } from "./dropped-reports.ts";
import { createIngestCounts, REFUSED, type IngestCounts } from "./ingest-counts.ts";
import { RepeatGuard } from "./repeats.ts";
import { UNUSED_SINKS, type Sink } from "./sink.ts";
import { SourceClocks } from "./source-clocks.ts";
import type { Tables } from "./tables.ts";
import { windowStartMs } from "./window-shape.ts";

/** A record as any bus hands it over. */
export interface IncomingRecord {
  readonly key: string;
  readonly value: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly appendedAtMs: number;
}

/** Limits of an ingest. */
export interface IngestOptions {
  /** How far ahead of now a point may lie; less than a pane. */
  readonly maxFutureMs: number;
  /** Series that are remembered; beyond them the least recently used are forgotten. */
  readonly maxSeries: number;
  /** Sources whose clock and sequences are remembered. */
  readonly maxSources: number;
}

/** Told of what was refused, so that it can be logged with names. */
export type OnRefused = (source: string, reason: string, detail: string) => void;

/** Hangs on a series. */
interface Binding {
  sink: Sink;
  /** Only for foreign records, which carry no sequence. */
  repeats: RepeatGuard | null;
}

/** Takes records off the bus and spreads their points over the windows. Nothing a record holds makes it throw. */
export class Ingest implements MetricsVisitor {
  readonly counts: IngestCounts = createIngestCounts();
  readonly clocks: SourceClocks;
  readonly #tables: Tables;
  readonly #options: IngestOptions;
  readonly #decoder: MetricsDecoder;
  readonly #sequences: SequenceTracker;
  readonly #dropped: DroppedReports;
  readonly #onRefused: OnRefused;
  #missingRecords = 0;
  /** The point in hand; its object is reused. */
  readonly #point = { startMs: 0, timeMs: 0, eventMs: 0, offsetMs: 0, clockGeneration: 0, nowMs: 0 };
  #foreign = false;
  #source = "";
  #oldestMs = 0;
  #latestMs = 0;

  constructor(tables: Tables, options: IngestOptions, onRefused: OnRefused = () => undefined) {
    this.#tables = tables;
    this.#options = options;
    this.#onRefused = onRefused;
    this.#decoder = new MetricsDecoder({ maxSeries: options.maxSeries });
    this.#sequences = new SequenceTracker({ maxSources: options.maxSources });
    this.#dropped = new DroppedReports(options.maxSources);
    this.clocks = new SourceClocks(options.maxSources);
  }

  /** Records that are missing for good: their sequences were skipped, and no publisher says that it dropped them. Only grows. */
  get missingRecords(): number {
    const { missing, outstanding } = this.#sequences;
    const unexplained = missing + outstanding - this.#dropped.total;
    this.#missingRecords = Math.max(this.#missingRecords, Math.min(missing, unexplained));
    return this.#missingRecords;
  }

  /** Records that publishers say they dropped while the bus was away. */
  get droppedRecords(): number {
    return this.#dropped.total;
  }

  /** Series in memory. */
  get series(): number {
    return this.#decoder.seriesCount;
  }

  take(record: IncomingRecord, nowMs: number): void {
    this.counts.records++;
    if (!this.#openRecord(record, nowMs)) return;
    try {
      this.#decoder.decode(record.value, this);
    } catch (error) {
      if (!(error instanceof OtlpError)) throw error;
      this.#refuseRecord(error.code, error.message);
    }
  }

  number(series: Series, startMs: number, timeMs: number, value: number): void {
    const sink = this.#open(series, startMs, timeMs);
    if (sink === null) return;
    if (sink.number === undefined) this.counts.ignored++;
    else sink.number(this.#point, value);
  }

  histogram(series: Series, startMs: number, timeMs: number, count: number, sum: number): void {
    const sink = this.#open(series, startMs, timeMs);
    if (sink === null) return;
    if (sink.histogram === undefined) this.counts.ignored++;
    else sink.histogram(this.#point, count, sum);
  }

  exponentialHistogram(
    series: Series,
    startMs: number,
    timeMs: number,
    data: ExponentialHistogramData,
  ): void {
    const sink = this.#open(series, startMs, timeMs);
    if (sink === null) return;
    if (sink.exponentialHistogram === undefined) this.counts.ignored++;
    else sink.exponentialHistogram(this.#point, data);
  }

  refused(reason: Refusal, metricName: string): void {
    this.#refusePoint(reason, metricName);
  }

  /** False: a repeat, or headers that make no sense. */
  #openRecord(record: IncomingRecord, nowMs: number): boolean {
    this.#source = record.key;
    let identity: RecordIdentity | null;
    try {
      identity = decodeHeaders(record.headers);
    } catch (error) {
      if (!(error instanceof OtlpError)) throw error;
      this.#refuseRecord(error.code, error.message);
      return false;
    }
    this.#foreign = identity === null;
    this.#point.offsetMs = 0;
    this.#point.clockGeneration = 0;
    this.#point.nowMs = nowMs;
    this.#oldestMs = windowStartMs(this.#tables.shape, nowMs);
    this.#latestMs = nowMs + this.#options.maxFutureMs;
    return identity === null || this.#identify(identity, record);
  }

  #identify(identity: RecordIdentity, { headers, appendedAtMs }: IncomingRecord): boolean {
    this.#source = identity.source;
    if (this.#sequences.observe(identity.source, identity.epoch, identity.sequence) === "duplicate") {
      this.counts.duplicateRecords++;
      return false;
    }
    const clock = this.clocks.observe(identity.source, identity.sentAtMs, appendedAtMs);
    this.#dropped.observe(identity, headers);
    this.#point.offsetMs = clock.offsetMs;
    this.#point.clockGeneration = clock.generation;
    return true;
  }

  /** The sink of a point that is in time, new and of use; else null, and counted. */
  #open(series: Series, startMs: number, timeMs: number): Sink | null {
    const point = this.#point;
    const eventMs = timeMs + point.offsetMs;
    if (eventMs > this.#latestMs) {
      this.#refusePoint("future", series.name);
      return null;
    }
    if (eventMs < this.#oldestMs) {
      this.counts.tooLate++;
      return null;
    }
    const binding = this.#bindingOf(series);
    if (this.#foreign && (binding.repeats ??= new RepeatGuard(series.temporality === "delta")).seen(timeMs)) {
      this.counts.duplicatePoints++;
      return null;
    }
    this.counts.points++;
    const { sink } = binding;
    if (sink.unused !== null) {
      this.counts.unused[sink.unused]++;
      return null;
    }
    point.startMs = startMs;
    point.timeMs = timeMs;
    point.eventMs = eventMs;
    return sink;
  }

  #bindingOf(series: Series): Binding {
    const known = series.state as Binding | undefined | null;
    if (known !== undefined && known !== null) {
      if (!known.sink.live) known.sink = this.#bind(series);
      return known;
    }
    const binding: Binding = { sink: this.#bind(series), repeats: null };
    series.state = binding;
    return binding;
  }

  #bind(series: Series): Sink {
    const { shape, links, channels } = this.#tables;
    return (
      bindProbe(series, links) ??
      bindTraffic(series, channels, shape.windowMs) ??
      bindUsage(series, this.#tables) ??
      UNUSED_SINKS.unknown_metric
    );
  }

  #refuseRecord(reason: string, detail: string): void {
    this.counts.refusedRecords++;
    this.#refuse(reason, detail);
  }

  #refusePoint(reason: string, detail: string): void {
    this.#refuse(reason, detail);
  }

  #refuse(reason: string, detail: string): void {
    const known = REFUSED.find((candidate) => candidate === reason) ?? "malformed";
    this.counts.refused[known]++;
    this.#onRefused(this.#source, known, detail);
  }
}
