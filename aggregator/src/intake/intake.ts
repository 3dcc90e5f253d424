import type { Batch, Bus, BusRecord, Subscription, TopicPartition } from "@isochrone/bus";
import type { Clock, Logger, Service } from "@isochrone/runtime";
import { TOPICS } from "@isochrone/telemetry";
import type { Tables } from "../domain/graphs/tables.ts";
import type { IngestCounts } from "../domain/ingest/ingest-counts.ts";
import { Ingest, type IngestOptions, type OnRefused, type SpeakingParts } from "../domain/ingest/ingest.ts";
import type { SourceClock } from "../domain/ingest/source-clocks.ts";
import type { Speakers } from "../domain/speakers/speaker.ts";
import type { RecordProofs } from "../record-keys/record-proofs.ts";
import type { DeadLetters } from "./dead-letters.ts";
import type { IntakeMetrics } from "./intake-metrics.ts";
import type { LastBandwidths } from "./last-bandwidths.ts";
import { RecordTraces } from "./record-traces.ts";

/** Parts for a bus that has other writers and outlives this process. */
export interface SharedBusParts {
  readonly proofs: RecordProofs;
  readonly deadLetters: DeadLetters;
  readonly bandwidths: LastBandwidths;
  /** Resolves when names in records can be resolved. */
  readonly namesKnown: (signal: AbortSignal) => Promise<void>;
}

interface IntakeOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tables: Tables;
  readonly ingest: IngestOptions;
  readonly onRefused: OnRefused;
  readonly speaking: SpeakingParts;
  readonly metrics: IntakeMetrics;
  /** Additional time read before the window, for baselines of counters. */
  readonly counterHorizonMs: number;
  /** Undefined: the bus is private to this process. */
  readonly shared?: SharedBusParts | undefined;
}

/** Limit of records per turn of the event loop, so that requests are served. */
const MAX_BATCH_RECORDS = 200;

/** Reads all input partitions. A replica's windows depend only on the bus. */
export class Intake implements Service {
  readonly #options: IntakeOptions;
  readonly #ingest: Ingest;
  readonly #traces = new RecordTraces();
  readonly #stopping = new AbortController();
  readonly #speakersByPartition = new Map<string, Speakers>();
  #speakers: Speakers | null = null;
  #starting: Promise<void> | null = null;
  #subscription: Subscription | null = null;
  #isCaughtUp = false;

  constructor(options: IntakeOptions) {
    this.#options = options;
    const { tables, ingest, onRefused, speaking, shared } = options;
    const speakers: Speakers = { speakerOf: (record) => this.#speakers!.speakerOf(record) };
    const judged = shared === undefined ? {} : { speakers };
    this.#ingest = new Ingest(tables, ingest, { ...speaking, ...judged, onRefused });
  }

  get counts(): IngestCounts {
    return this.#ingest.counts;
  }

  get series(): number {
    return this.#ingest.series;
  }

  get droppedRecords(): number {
    return this.#ingest.droppedRecords;
  }

  get missingRecords(): number {
    return this.#ingest.missingRecords;
  }

  get refusedRates(): number {
    return this.#options.tables.bandwidth.refused;
  }

  clocks(): Iterable<[string, SourceClock]> {
    return this.#ingest.clocks.entries();
  }

  pending(): string[] {
    const { shared } = this.#options;
    const unproven = shared?.proofs.pending() ?? [];
    if (unproven.length > 0) return unproven;
    return [
      ...(this.#isCaughtUp ? [] : ["reading the records of the window from the bus"]),
      ...(shared?.bandwidths.pending() ?? []),
    ];
  }

  /** Returns immediately if the bus may be unavailable for long. */
  async start(): Promise<void> {
    this.#starting ??= this.#begin();
    if (this.#options.shared === undefined) await this.#starting;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#subscription?.close(), this.#options.shared?.bandwidths.stop()]);
  }

  async #begin(): Promise<void> {
    const { bus, clock, logger, tables, counterHorizonMs, shared } = this.#options;
    const { signal } = this.#stopping;
    try {
      // Records that cannot be verified yet would be refused and lost.
      await shared?.proofs.known(signal);
      await shared?.namesKnown(signal);
      const sinceMs = clock.now() - tables.shape.windowMs - counterHorizonMs;
      this.#ingest.believeCountersSince(sinceMs);
      const bandwidths = shared?.bandwidths.start();
      this.#subscription = await bus.subscribe({
        topics: [...Object.values(TOPICS), ...(shared?.proofs.foreignTopics ?? [])],
        from: { sinceMs },
        maxBatchRecords: MAX_BATCH_RECORDS,
        onBatch: async (batch) => this.#take(batch),
        onCaughtUp: () => void (this.#isCaughtUp = true),
      });
      await bandwidths;
      if (signal.aborted) await this.#subscription.close();
    } catch (error) {
      if (!signal.aborted) logger.error("the intake could not start", { error });
    }
  }

  #take(batch: Batch): void {
    if (this.#stopping.signal.aborted) return;
    const { clock, metrics } = this.#options;
    const nowMs = clock.now();
    this.#speakers = this.#speakersOf(batch);
    for (const record of batch.records) this.#takeRecord(record, nowMs);
    metrics.batchRecords.observe(batch.records.length);
    if (batch.endOffset === null) return;
    const { topic, partition, endOffset, records } = batch;
    const lag = Math.max(0, endOffset - records.at(-1)!.offset - 1);
    metrics.lag.set({ topic, partition: String(partition) }, lag);
  }

  #takeRecord(record: BusRecord, nowMs: number): void {
    const { metrics, shared } = this.#options;
    // Other replicas have already reported records from before the start.
    const isNew = this.#isCaughtUp;
    const endTrace = isNew ? this.#traces.begin(record) : null;
    const refused = this.#ingest.take(record, nowMs);
    endTrace?.();
    if (!isNew) return;
    if (refused !== null) shared?.deadLetters.offer(record, refused);
    const { newestEventMs } = this.#ingest;
    if (newestEventMs > 0) metrics.ageSeconds.observe((nowMs - newestEventMs) / 1000);
  }

  #speakersOf({ topic, partition }: TopicPartition): Speakers | null {
    const { shared } = this.#options;
    if (shared === undefined) return null;
    const place = `${topic}/${partition}`;
    const known = this.#speakersByPartition.get(place);
    if (known !== undefined) return known;
    const speakers = shared.proofs.speakersOf({ topic, partition });
    this.#speakersByPartition.set(place, speakers);
    return speakers;
  }
}
