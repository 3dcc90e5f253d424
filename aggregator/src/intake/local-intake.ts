import type { Batch, Bus, Subscription } from "@isochrone/bus";
import type { Clock } from "@isochrone/runtime";
import { TOPICS } from "@isochrone/telemetry";
import { Ingest, type IngestOptions, type OnRefused, type SpeakingParts } from "../domain/ingest/ingest.ts";
import type { IngestCounts } from "../domain/ingest/ingest-counts.ts";
import type { SourceClock } from "../domain/ingest/source-clocks.ts";
import type { Tables } from "../domain/graphs/tables.ts";
import type { Intake } from "./intake.ts";
import type { IntakeMetrics } from "./intake-metrics.ts";
import { RecordTraces } from "./record-traces.ts";

/** What a local intake works with. */
interface LocalIntakeOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly tables: Tables;
  readonly ingest: IngestOptions;
  /** Unique: this replica reads everything, alone. */
  readonly group: string;
  readonly onRefused: OnRefused;
  readonly speaking?: SpeakingParts | undefined;
  readonly metrics: IntakeMetrics;
}

/** Records of one batch are handled in one turn of the event loop: requests must get their turn too. */
export const MAX_BATCH_RECORDS = 200;

/** Bus -> windows, without a way round: there is one replica, and what it has read is its own affair. */
export class LocalIntake implements Intake {
  readonly #options: LocalIntakeOptions;
  readonly #ingest: Ingest;
  readonly #traces = new RecordTraces();
  #subscription: Subscription | null = null;

  constructor(options: LocalIntakeOptions) {
    this.#options = options;
    const { tables, ingest, onRefused, speaking } = options;
    this.#ingest = new Ingest(tables, ingest, { ...speaking, onRefused });
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
    return [];
  }

  async start(): Promise<void> {
    this.#subscription = await this.#options.bus.subscribe({
      topics: Object.values(TOPICS),
      group: this.#options.group,
      from: "earliest",
      maxBatchRecords: MAX_BATCH_RECORDS,
      onBatch: (batch) => this.#take(batch),
    });
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
  }

  async #take(batch: Batch): Promise<void> {
    const { clock, metrics } = this.#options;
    const nowMs = clock.now();
    for (const record of batch.records) {
      const ending = this.#traces.begin(record);
      this.#ingest.take(record, nowMs);
      ending?.();
      const { newestEventMs } = this.#ingest;
      if (newestEventMs > 0) metrics.ageSeconds.observe((nowMs - newestEventMs) / 1000);
    }
    metrics.batchRecords.observe(batch.records.length);
    if (batch.endOffset !== null) {
      const { topic, partition, endOffset, records } = batch;
      const lag = Math.max(0, endOffset - records.at(-1)!.offset - 1);
      metrics.lag.set({ topic, partition: String(partition) }, lag);
    }
    await batch.commit();
  }
}
