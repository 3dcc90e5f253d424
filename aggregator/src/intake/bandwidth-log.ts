import { partitionOf, type Bus, type BusRecord } from "@isochrone/bus";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { OtlpError, STATE_TOPICS, TOPICS } from "@isochrone/telemetry";
import { DeltaReader } from "../domain/delta/delta-reader.ts";
import { encodeContributions } from "../domain/delta/encode-delta.ts";
import type { Tables } from "../domain/graphs/tables.ts";
import type { SharedMetrics } from "./intake-metrics.ts";
import { LogReader } from "./log-reader.ts";

/** What a bandwidth log works with. */
interface BandwidthLogOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly tables: Tables;
  readonly metrics: SharedMetrics;
  readonly group: string;
  /** Whether this replica owns the partition of the probes' topic. */
  readonly owns: (partition: number) => boolean;
  /** See LogReader. */
  readonly isOwn?: (record: BusRecord) => boolean;
}

/** Pairs that wait to be written at most; their next burst comes anyway. */
const MAX_WAITING = 4096;
const MAX_SERIES = 65_536;
const NOTHING = new Uint8Array(0);

/**
 * Bursts of bandwidth tests count for longer than the log of deltas is kept: their last state is in a
 * compacted topic, keyed by pair. The owner of the source's partition writes it, and takes it away when it
 * has expired.
 */
export class BandwidthLog {
  readonly #options: BandwidthLogOptions;
  readonly #log: LogReader;
  readonly #reader: DeltaReader;
  /** Keys that the topic has. */
  readonly #written = new Map<string, { readonly source: string; readonly target: string }>();
  #waiting = new Map<string, { readonly source: string; readonly target: string }>();
  #partitions: number | null = null;
  #isWriting = false;

  constructor(options: BandwidthLogOptions) {
    this.#options = options;
    this.#reader = new DeltaReader(options.tables, MAX_SERIES);
    this.#log = new LogReader({
      ...options,
      topic: STATE_TOPICS.graph,
      onRecord: (record) => this.#take(record),
      onLag: (partition, records) =>
        options.metrics.lag.set({ topic: STATE_TOPICS.graph, partition: String(partition) }, records),
    });
  }

  async readToEnd(signal: AbortSignal): Promise<void> {
    await this.#log.readToEnd(signal);
    this.#partitions = await this.#log.partitionCount(TOPICS.probe, signal);
  }

  async close(): Promise<void> {
    await this.#log.close();
  }

  /** A burst of this pair was added to the windows by this replica's own delta. */
  changed(source: string, target: string): void {
    if (this.#waiting.size < MAX_WAITING) this.#waiting.set(keyOf(source, target), { source, target });
  }

  /**
   * Writes what has changed, and takes away what has expired. What fails is tried again with the next call.
   */
  async write(): Promise<void> {
    if (this.#isWriting || this.#partitions === null) return;
    this.#isWriting = true;
    const waiting = this.#waiting;
    this.#waiting = new Map();
    for (const [key, pair] of this.#expired()) waiting.set(key, pair);
    try {
      const records = [...waiting].map(([key, pair]) => ({ key, value: this.#valueOf(pair), headers: {} }));
      if (records.length > 0) await this.#options.bus.publish(STATE_TOPICS.graph, records);
    } catch (error) {
      for (const [key, pair] of waiting) if (!this.#waiting.has(key)) this.#waiting.set(key, pair);
      this.#options.logger.warnOnce(
        "graph:publish",
        "the latest bandwidths could not be written, trying again",
        {
          topic: STATE_TOPICS.graph,
          error,
        },
      );
    } finally {
      this.#isWriting = false;
    }
  }

  #take({ key, value }: BusRecord): void {
    const [source, target] = key.split("/");
    if (source === undefined || target === undefined) return;
    if (value.byteLength === 0) {
      this.#written.delete(key);
      return;
    }
    this.#written.set(key, { source, target });
    try {
      this.#reader.read(value, this.#options.clock.now());
    } catch (error) {
      if (!(error instanceof OtlpError)) throw error;
      this.#options.logger.warnOnce("graph:unreadable", "a last bandwidth can't be read", { key, error });
    }
  }

  *#expired(): Generator<[string, { readonly source: string; readonly target: string }]> {
    const { tables, owns } = this.#options;
    for (const [key, pair] of this.#written) {
      if (tables.bandwidth.get(pair.source, pair.target) !== null) continue;
      if (owns(partitionOf(pair.source, this.#partitions!))) yield [key, pair];
    }
  }

  /** Empty: it has expired. */
  #valueOf({ source, target }: { readonly source: string; readonly target: string }): Uint8Array {
    const { tables } = this.#options;
    const pair = tables.bandwidth.get(source, target);
    const bursts = pair?.bursts() ?? [];
    if (bursts.length === 0) return NOTHING;
    const pairs = [{ source, target, bursts }];
    const nothing = { links: [], channels: [], demand: [], pods: [], nodes: [] };
    return Buffer.concat(encodeContributions({ ...nothing, pairs }, tables.shape));
  }
}

function keyOf(source: string, target: string): string {
  return `${source}/${target}`;
}
