import {
  CounterTracks,
  MetricsDecoder,
  OtlpError,
  type ExponentialHistogramData,
  type MetricsVisitor,
  type Refusal,
  type Series,
} from "@isochrone/telemetry";
import { bindBytes } from "./bind-bytes.ts";
import { bindDemand } from "./bind-demand.ts";
import { bindFlow, NO_FLOWS, type FlowFacts } from "./bind-flow.ts";
import { bindProbe } from "./bind-probe.ts";
import { bindServiceGraph } from "./bind-service-graph.ts";
import { bindTraffic } from "./bind-traffic.ts";
import { bindUsage } from "./bind-usage.ts";
import { ByteMemory } from "./byte-memory.ts";
import { createIngestCounts, REFUSED, type IngestCounts, type Refused } from "./ingest-counts.ts";
import { IncrementSink } from "./increments.ts";
import { accountLimits, type IngestOptions, type IngestParts, type OnRefused } from "./ingest-options.ts";
import type { IncomingRecord } from "./incoming-record.ts";
import { MissingCounters } from "./missing-counters.ts";
import { isOfOther, OwnCluster } from "./own-cluster.ts";
import { RepeatGuard } from "./repeats.ts";
import { RecordSources, type OpenVerdict } from "./record-sources.ts";
import type { SinkTables } from "./sink-tables.ts";
import { PassingSinks, UNUSED_SINKS, type Sink } from "./sink.ts";
import type { SourceClocks } from "./source-clocks.ts";
import { Accounts, type Account } from "../speakers/accounts.ts";
import { SpeakerPolicy } from "../speakers/policy.ts";
import { OPEN_SPEAKERS } from "../speakers/speaker.ts";
import { windowStartMs } from "../windows/window-shape.ts";

export type { IngestOptions, OnRefused, SpeakingParts } from "./ingest-options.ts";
export type { IncomingRecord } from "./incoming-record.ts";

/** Wraps the sink of new series and of foreign records' series. Other series hold the sink directly. */
class Binding {
  sink: Sink;
  /** Only for foreign records, which have no sequence. */
  repeats: RepeatGuard | null = null;
  isNew: boolean;

  constructor(sink: Sink, isNew: boolean) {
    this.sink = sink;
    this.isNew = isNew;
  }
}

/** A series without a point for this many windows is forgotten; its target has expired by then. */
const SERIES_WINDOWS = 2;

/** Decodes bus records into the tables. Never throws, whatever a record contains. */
export class Ingest implements MetricsVisitor {
  readonly counts: IngestCounts = createIngestCounts();
  readonly #tables: SinkTables;
  readonly #options: IngestOptions;
  #decoder: MetricsDecoder;
  readonly #tracks: CounterTracks;
  readonly #missing: MissingCounters;
  readonly #sources: RecordSources;
  readonly #passing = new PassingSinks();
  readonly #onRefused: OnRefused;
  readonly #flows: FlowFacts;
  readonly #clusters: OwnCluster;
  #clusterChanges = 0;
  readonly #bytes = new ByteMemory(() => this.counts.connectionBytes);
  readonly #point = { startMs: 0, timeMs: 0, eventMs: 0, offsetMs: 0, clockGeneration: 0, life: 0, nowMs: 0 };
  #foreign = false;
  #source = "";
  #oldestMs = 0;
  #latestMs = 0;
  #account: Account;
  #refusedReason: Refused | null = null;
  /** Cumulative series that started earlier may have been counted before, up to an unknown sample. */
  #countersSinceMs = Number.NEGATIVE_INFINITY;
  #newestEventMs = Number.NEGATIVE_INFINITY;
  #newestTimeMs = Number.NEGATIVE_INFINITY;
  #sweptMs = Number.NaN;
  #retriedMs = Number.NaN;
  #takenMs = Number.NEGATIVE_INFINITY;

  constructor(tables: SinkTables, options: IngestOptions, parts: IngestParts = {}) {
    this.#tables = tables;
    this.#options = options;
    this.#onRefused = parts.onRefused ?? ((): void => undefined);
    this.#flows = parts.flows ?? NO_FLOWS;
    this.#clusters = parts.clusters ?? new OwnCluster();
    this.#decoder = this.#createDecoder(options.maxSeries);
    this.#tracks = new CounterTracks({ maxFirstSpanMs: tables.shape.windowMs });
    this.#missing = new MissingCounters(options.maxSources);
    const limits = accountLimits(options, tables.shape.windowMs);
    const accounts = new Accounts(limits, parts.policy ?? new SpeakerPolicy(), parts.facts);
    this.#account = accounts.of({ kind: "open" }, "", Number.NEGATIVE_INFINITY);
    this.#sources = new RecordSources(parts.speakers ?? OPEN_SPEAKERS, accounts, options.maxSources);
  }

  get clocks(): SourceClocks {
    return this.#sources.clocks;
  }

  get missingRecords(): number {
    return this.#sources.missingRecords;
  }

  get droppedRecords(): number {
    return this.#sources.droppedRecords;
  }

  get series(): number {
    return this.#decoder.seriesCount;
  }

  get counters(): number {
    return this.#tracks.used;
  }

  /** Event time of the last record's newest used point; -Infinity: none. */
  get newestEventMs(): number {
    return this.#newestEventMs;
  }

  /** Returns why the record, or the first refused point in it, was refused; null: nothing was. */
  take(record: IncomingRecord, nowMs: number): Refused | null {
    this.counts.records++;
    this.#refusedReason = null;
    this.#newestEventMs = Number.NEGATIVE_INFINITY;
    this.#newestTimeMs = Number.NEGATIVE_INFINITY;
    if (!this.#openRecord(record, nowMs)) return this.#refusedReason;
    try {
      this.#decoder.decode(record.value, this, this.#account);
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

  /** From now on, new series that started before `sinceMs` give a baseline first. */
  believeCountersSince(sinceMs: number): void {
    this.#countersSinceMs = sinceMs;
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
    else if (!sink.exponentialHistogram(this.#point, data)) this.#refusePoint("out_of_range", series.name);
  }

  refused(reason: Refusal, metricName: string): void {
    this.#refusePoint(reason, metricName);
  }

  /** Returns false for a repeated record or invalid headers. */
  #openRecord(record: IncomingRecord, nowMs: number): boolean {
    this.#point.nowMs = nowMs;
    // Judged at its append time, so that replicas agree however late they read it. Expired panes ignore its
    // points; counters keep their values as baselines.
    const judgedMs = Math.min(nowMs, record.appendedAtMs);
    this.#oldestMs = windowStartMs(this.#tables.shape, judgedMs);
    this.#latestMs = judgedMs + this.#options.maxFutureMs;
    if (nowMs < this.#takenMs - this.#tables.shape.paneMs) this.#beginAgain();
    this.#takenMs = nowMs;
    if (this.#clusterChanges !== this.#clusters.changes) this.#beginAgain();
    this.#clusterChanges = this.#clusters.changes;
    this.#sweep(nowMs);
    return this.#noteSource(this.#sources.open(record, nowMs));
  }

  #noteSource(opened: OpenVerdict): boolean {
    if (opened.verdict === "opened") {
      const { source, account, isForeign, offsetMs, clockGeneration, life } = opened;
      this.#source = source;
      this.#account = account;
      this.#foreign = isForeign;
      this.#point.offsetMs = offsetMs;
      this.#point.clockGeneration = clockGeneration;
      this.#point.life = life;
      return true;
    }
    if (opened.verdict === "duplicate") this.counts.duplicateRecords++;
    else {
      this.#source = opened.source;
      this.#refuseRecord(opened.reason, opened.detail);
    }
    return false;
  }

  /** Forgets all series. After the clock was set back their last values would be in the future. */
  #beginAgain(): void {
    this.#decoder.forgetUnused(0);
    this.#sweptMs = this.#retriedMs = Number.NaN;
  }

  /** Retries temporary refusals once per pane. Forgets idle series once per window. */
  #sweep(nowMs: number): void {
    const { paneMs, windowMs } = this.#tables.shape;
    if (!(nowMs - this.#retriedMs < paneMs)) {
      this.#retriedMs = nowMs;
      this.#passing.end();
      this.counts.recentUnused.note(nowMs, windowMs, paneMs);
    }
    if (nowMs - this.#sweptMs < windowMs) return;
    this.#sweptMs = nowMs;
    this.#decoder.forgetUnused(SERIES_WINDOWS);
  }

  /** Returns null after counting the reason if the point is late, repeated or unused. */
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
    if (this.#foreign && this.#isRepeated(series, binding, timeMs)) {
      this.counts.duplicatePoints++;
      return null;
    }
    const sink = binding instanceof Binding ? binding.sink : binding;
    if (sink.unused !== null) {
      this.#leaveOut(sink.unused, series);
      return null;
    }
    this.counts.points++;
    if (eventMs > this.#newestEventMs) this.#newestEventMs = eventMs;
    if (timeMs > this.#newestTimeMs) this.#newestTimeMs = timeMs;
    point.startMs = binding instanceof Binding ? this.#startOf(binding, series, startMs) : startMs;
    point.timeMs = timeMs;
    point.eventMs = eventMs;
    return sink;
  }

  #leaveOut(reason: NonNullable<Sink["unused"]>, series: Series): void {
    if (reason === "not_yours") {
      this.#refusePoint(reason, series.name);
      return;
    }
    this.counts.points++;
    this.counts.unused[reason]++;
    this.counts.unusedExamples[reason] = series.name;
  }

  #isRepeated(series: Series, state: Binding | Sink, timeMs: number): boolean {
    let binding = state;
    if (!(binding instanceof Binding)) series.state = binding = new Binding(binding, false);
    binding.repeats ??= new RepeatGuard(series.temporality === "delta");
    return binding.repeats.seen(timeMs);
  }

  /** Start of a new series; 0 (unknown) if its past may have been counted already. */
  #startOf(binding: Binding, series: Series, startMs: number): number {
    if (binding.repeats === null) series.state = binding.sink;
    if (!binding.isNew) return startMs;
    binding.isNew = false;
    const beganMs = startMs + this.#point.offsetMs;
    return series.temporality === "cumulative" && beganMs < this.#countersSinceMs ? 0 : startMs;
  }

  #bindingOf(series: Series): Binding | Sink {
    const known = series.state as Binding | Sink | undefined;
    if (known === undefined) return (series.state = new Binding(this.#bind(series), true));
    const sink = known instanceof Binding ? known.sink : known;
    if (sink.live) return known;
    sink.release?.();
    const bound = this.#bind(series);
    if (known instanceof Binding) known.sink = bound;
    else series.state = bound;
    return known instanceof Binding ? known : bound;
  }

  #bind(series: Series): Sink {
    return this.#passing.of(this.#bindFor(series, this.#account));
  }

  #bindFor(series: Series, permit: Account): Sink {
    const clusters = this.#clusters;
    if (isOfOther(series, clusters, permit.facts)) return UNUSED_SINKS.other_cluster;
    const { channels, demand } = this.#tables;
    const traffic =
      bindDemand(series, demand, this.#tracks, permit, clusters) ??
      bindTraffic(series, channels, this.#tracks, permit, clusters);
    // A pod's own proxy ends with the pod. Silence of a reporter for many pods proves nothing.
    if (traffic instanceof IncrementSink) this.#missing.add(this.#source, traffic);
    return (
      bindProbe(series, this.#tables, permit) ??
      traffic ??
      bindServiceGraph(series, channels, this.#tracks, permit, clusters) ??
      bindBytes(series, channels, this.#tracks, this.#bytes, permit) ??
      bindFlow(series, channels, this.#tracks, this.#flows, permit) ??
      bindUsage(series, this.#tables, this.#tracks, permit) ??
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
    this.#refusedReason ??= known;
    this.#onRefused(this.#source, known, detail);
  }
}
