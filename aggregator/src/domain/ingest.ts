import {
  CounterTracks,
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
import { bindServiceGraph } from "./bind-service-graph.ts";
import { bindTraffic } from "./bind-traffic.ts";
import { bindUsage } from "./bind-usage.ts";
import { DroppedReports } from "./dropped-reports.ts";
import { createIngestCounts, REFUSED, type IngestCounts, type Refused } from "./ingest-counts.ts";
import { IncrementSink } from "./increments.ts";
import type {
  IncomingRecord,
  IngestOptions,
  IngestParts,
  OnRefused,
  RecordSequences,
} from "./ingest-options.ts";
import { MissingCounters } from "./missing-counters.ts";
import { RepeatGuard } from "./repeats.ts";
import { SeriesBudgets, type SeriesBudget } from "./series-budgets.ts";
import type { SinkTables } from "./sink-tables.ts";
import { UNUSED_SINKS, type Sink } from "./sink.ts";
import { SourceClocks } from "./source-clocks.ts";
import { OPEN_SPEAKERS, type Speakers } from "./speakers/speaker.ts";
import { windowStartMs } from "./window-shape.ts";

export type {
  IncomingRecord,
  IngestOptions,
  IngestParts,
  OnRefused,
  RecordSequences,
} from "./ingest-options.ts";

/** Hangs on a series that is new, or that foreign records bring; on all others hangs the sink itself. */
class Binding {
  sink: Sink;
  /** Only for foreign records, which carry no sequence. */
  repeats: RepeatGuard | null = null;
  isNew: boolean;

  constructor(sink: Sink, isNew: boolean) {
    this.sink = sink;
    this.isNew = isNew;
  }
}

/** Series of sources that have spent their budget: theirs alone are forgotten for the lack of room. */
const QUARANTINED_SERIES = 4096;

/** A series that had no point for so many whole windows is forgotten, as what it fed is by then. */
const SERIES_WINDOWS = 2;

/** Takes records off the bus and spreads their points over the tables. Nothing a record holds makes it throw. */
export class Ingest implements MetricsVisitor {
  readonly counts: IngestCounts;
  readonly clocks: SourceClocks;
  readonly #tables: SinkTables;
  readonly #options: IngestOptions;
  readonly #decoder: MetricsDecoder;
  readonly #tracks: CounterTracks;
  readonly #missing: MissingCounters;
  #quarantine: MetricsDecoder | null = null;
  readonly #budgets: SeriesBudgets;
  readonly #sequences: RecordSequences;
  readonly #dropped: DroppedReports;
  readonly #onRefused: OnRefused;
  readonly #speakers: Speakers;
  #missingRecords = 0;
  /** The point in hand; its object is reused. */
  readonly #point = { startMs: 0, timeMs: 0, eventMs: 0, offsetMs: 0, clockGeneration: 0, nowMs: 0 };
  #foreign = false;
  #source = "";
  #oldestMs = 0;
  #latestMs = 0;
  #budget: SeriesBudget = { left: 0, untilMs: 0 };
  /** Counts of the record in hand: those that are shown, or others while records are only replayed. */
  #tally: IngestCounts;
  readonly #replayTally = createIngestCounts();
  #refusedReason: Refused | null = null;
  /** Cumulative series that began before may have been counted by somebody else, up to a sample that isn't known here. */
  #countersSinceMs = Number.NEGATIVE_INFINITY;
  #newestEventMs = Number.NEGATIVE_INFINITY;
  /** Of the record in hand, on its source's clock. */
  #newestTimeMs = Number.NEGATIVE_INFINITY;
  /** When series were last looked for that had no point. */
  #sweptMs = Number.NaN;

  constructor(tables: SinkTables, options: IngestOptions, parts: IngestParts = {}) {
    this.#tables = tables;
    this.#options = options;
    this.#onRefused = parts.onRefused ?? ((): void => undefined);
    this.#speakers = parts.speakers ?? OPEN_SPEAKERS;
    this.#decoder = this.#createDecoder(options.maxSeries);
    this.#tracks = new CounterTracks({ maxFirstSpanMs: tables.shape.windowMs });
    this.#missing = new MissingCounters(options.maxSources);
    this.#budgets = new SeriesBudgets(
      options.maxSeriesPerSource === undefined
        ? options.maxSeries
        : Math.min(options.maxSeriesPerSource, Math.ceil(options.maxSeries / 2)),
      tables.shape.windowMs,
      options.maxSources,
    );
    this.counts = parts.counts ?? createIngestCounts();
    this.#tally = this.counts;
    this.#sequences = parts.sequences ?? new SequenceTracker({ maxSources: options.maxSources });
    this.#dropped = parts.dropped ?? new DroppedReports(options.maxSources);
    this.clocks = parts.clocks ?? new SourceClocks(options.maxSources);
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

  /** Counters of these that have a last value. */
  get counters(): number {
    return this.#tracks.used;
  }

  /** Event time of the newest point that was used of the last record; -Infinity when there was none. */
  get newestEventMs(): number {
    return this.#newestEventMs;
  }

  /** Why the record, or the first of its points that was, was refused; null when nothing was. */
  take(record: IncomingRecord, nowMs: number): Refused | null {
    this.#tally = this.counts;
    return this.#take(record, nowMs, false);
  }

  /**
   * Takes a record that was counted before, for what later ones are compared with: last values of counters, times, clocks. What it adds to
   * the tables is to be thrown away. Nothing is counted, and no sequence noted.
   */
  replay(record: IncomingRecord, nowMs: number): void {
    this.#tally = this.#replayTally;
    this.#take(record, nowMs, true);
    this.#tally = this.counts;
  }

  /** From here on a cumulative series that is new and began before `sinceMs` gives a baseline first, and no increment since its start. */
  believeCountersSince(sinceMs: number): void {
    this.#countersSinceMs = sinceMs;
  }

  #take(record: IncomingRecord, nowMs: number, isReplay: boolean): Refused | null {
    this.#tally.records++;
    this.#refusedReason = null;
    this.#newestEventMs = Number.NEGATIVE_INFINITY;
    this.#newestTimeMs = Number.NEGATIVE_INFINITY;
    if (!this.#openRecord(record, nowMs, isReplay)) return this.#refusedReason;
    try {
      this.#decoderNow().decode(record.value, this);
    } catch (error) {
      if (!(error instanceof OtlpError)) throw error;
      this.#refuseRecord(error.code, error.message);
    }
    if (this.#newestTimeMs > 0) {
      const { offsetMs, clockGeneration } = this.#point;
      this.#missing.look(this.#source, { timeMs: this.#newestTimeMs, offsetMs, clockGeneration });
    }
    return this.#refusedReason;
  }

  #decoderNow(): MetricsDecoder {
    if (this.#budget.left > 0) return this.#decoder;
    return (this.#quarantine ??= this.#createDecoder(Math.min(QUARANTINED_SERIES, this.#options.maxSeries)));
  }

  #createDecoder(maxSeries: number): MetricsDecoder {
    const { hashSeed = 0 } = this.#options;
    return new MetricsDecoder({ maxSeries, hashSeed }, ({ state }) => {
      const sink = state instanceof Binding ? state.sink : (state as Sink | undefined);
      sink?.release?.();
    });
  }

  number(series: Series, startMs: number, timeMs: number, value: number): void {
    const sink = this.#open(series, startMs, timeMs);
    if (sink === null) return;
    if (sink.number === undefined) this.#tally.ignored++;
    else sink.number(this.#point, value);
  }

  histogram(series: Series, startMs: number, timeMs: number, count: number, sum: number): void {
    const sink = this.#open(series, startMs, timeMs);
    if (sink === null) return;
    if (sink.histogram === undefined) this.#tally.ignored++;
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
    if (sink.exponentialHistogram === undefined) this.#tally.ignored++;
    else sink.exponentialHistogram(this.#point, data);
  }

  refused(reason: Refusal, metricName: string): void {
    this.#refusePoint(reason, metricName);
  }

  /** False: a repeat, or headers that make no sense. */
  #openRecord(record: IncomingRecord, nowMs: number, isReplay: boolean): boolean {
    if (this.#speakers.speakerOf(record) === "refused") {
      // In nobody's name: who wrote it may have invented the one that it bears.
      this.#source = "nobody";
      this.#refuseRecord("unproven", "nothing proves who sent the record");
      return false;
    }
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
    this.#sweep(nowMs);
    if (identity !== null && !this.#identify(identity, record, isReplay)) return false;
    this.#budget = this.#budgets.of(this.#source, nowMs);
    return true;
  }

  /** Once per window: pods come and go, and nothing else ends their series. */
  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < this.#tables.shape.windowMs) return;
    this.#sweptMs = nowMs;
    this.#decoder.forgetUnused(SERIES_WINDOWS);
    this.#quarantine?.forgetUnused(SERIES_WINDOWS);
  }

  #identify(identity: RecordIdentity, { headers, appendedAtMs }: IncomingRecord, isReplay: boolean): boolean {
    const { source, epoch, sequence } = identity;
    this.#source = source;
    if (!isReplay && this.#sequences.observe(source, epoch, sequence) === "duplicate") {
      this.#tally.duplicateRecords++;
      return false;
    }
    const clock = this.clocks.observe(source, identity.sentAtMs, appendedAtMs);
    if (!isReplay) this.#dropped.observe(identity, headers);
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
      this.#tally.tooLate++;
      return null;
    }
    const binding = this.#bindingOf(series);
    if (binding === null) {
      this.#refusePoint("too_many_series", series.name);
      return null;
    }
    if (this.#foreign && this.#isRepeated(series, binding, timeMs)) {
      this.#tally.duplicatePoints++;
      return null;
    }
    this.#tally.points++;
    const sink = binding instanceof Binding ? binding.sink : binding;
    if (sink.unused !== null) {
      this.#tally.unused[sink.unused]++;
      return null;
    }
    if (eventMs > this.#newestEventMs) this.#newestEventMs = eventMs;
    if (timeMs > this.#newestTimeMs) this.#newestTimeMs = timeMs;
    point.startMs = binding instanceof Binding ? this.#startOf(binding, series, startMs) : startMs;
    point.timeMs = timeMs;
    point.eventMs = eventMs;
    return sink;
  }

  #isRepeated(series: Series, state: Binding | Sink, timeMs: number): boolean {
    let binding = state;
    if (!(binding instanceof Binding)) series.state = binding = new Binding(binding, false);
    binding.repeats ??= new RepeatGuard(series.temporality === "delta");
    return binding.repeats.seen(timeMs);
  }

  /** The start of a new series; 0, unknown, where its past may have been counted by somebody else. */
  #startOf(binding: Binding, series: Series, startMs: number): number {
    if (binding.repeats === null) series.state = binding.sink;
    if (!binding.isNew) return startMs;
    binding.isNew = false;
    const beganMs = startMs + this.#point.offsetMs;
    return series.temporality === "cumulative" && beganMs < this.#countersSinceMs ? 0 : startMs;
  }

  /** Null: the source has brought too many. */
  #bindingOf(series: Series): Binding | Sink | null {
    const known = series.state as Binding | Sink | undefined;
    if (known === undefined) {
      if (this.#budget.left <= 0) return null;
      this.#budget.left--;
      return (series.state = new Binding(this.#bind(series), true));
    }
    const sink = known instanceof Binding ? known.sink : known;
    if (sink.live) return known;
    sink.release?.();
    const bound = this.#bind(series);
    if (known instanceof Binding) known.sink = bound;
    else series.state = bound;
    return known instanceof Binding ? known : bound;
  }

  #bind(series: Series): Sink {
    const { channels } = this.#tables;
    const traffic = bindTraffic(series, channels, this.#tracks);
    // A pod's own proxy counts: it ends with the pod. Of others that count for many, nothing is known by their silence.
    if (traffic instanceof IncrementSink) this.#missing.add(this.#source, traffic);
    return (
      bindProbe(series, this.#tables) ??
      traffic ??
      bindServiceGraph(series, channels, this.#tracks) ??
      bindUsage(series, this.#tables, this.#tracks) ??
      UNUSED_SINKS.unknown_metric
    );
  }

  #refuseRecord(reason: string, detail: string): void {
    this.#tally.refusedRecords++;
    this.#refuse(reason, detail);
  }

  #refusePoint(reason: string, detail: string): void {
    this.#refuse(reason, detail);
  }

  #refuse(reason: string, detail: string): void {
    const known = REFUSED.find((candidate) => candidate === reason) ?? "malformed";
    this.#tally.refused[known]++;
    this.#refusedReason ??= known;
    this.#onRefused(this.#source, known, detail);
  }
}
