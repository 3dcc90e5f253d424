import { pause } from "@isochrone/runtime";

import type { BusError } from "../../../ports/errors.ts";
import type { TopicPartition } from "../../../ports/port.ts";
import type { PartitionOffset, ReaderEvents } from "./client.ts";
import { brokerError, isSerious, kafkaError } from "./kafka-errors.ts";
import type { LibraryErrors } from "./library.ts";
import type { KafkaClientOptions } from "./options.ts";
import { splitBatches } from "./record-batches.ts";
import type { Aborted } from "./record-batches.ts";
import { partitionKey } from "./records.ts";
import { retryDelayMs } from "./retry-delay.ts";

export interface FetchedPartition extends TopicPartition {
  /** Kafka's error name; null on success. */
  readonly errorName: string | null;
  readonly highWatermark: number;
  readonly batches: Buffer;
  readonly aborted: readonly Aborted[];
}

/** All reject with the library's errors. */
export interface FetchRequests {
  readonly errors: LibraryErrors;
  leaderOf(partition: TopicPartition): Promise<number>;
  fetch(leader: number, wanted: readonly PartitionOffset[]): Promise<readonly FetchedPartition[]>;
  startOf(partition: TopicPartition): Promise<number>;
  /** Forgets the topic's leaders, so that the next call asks again. */
  forget(topic: string): void;
}

interface Reading extends TopicPartition {
  offset: number;
  paused: boolean;
  /** Part of a pending fetch. */
  fetching: boolean;
  failures: number;
  /** Earliest next fetch after a failure, monotonic milliseconds. */
  notBeforeMs: number;
  /**
   * Time of the last fetch. Longest-waiting partitions first: one with large records must not starve others.
   */
  askedAtMs: number;
}

/** One request at a time per broker, without paused partitions. Without fetch sessions, a pause is free. */
export class Fetcher {
  readonly #options: KafkaClientOptions;
  readonly #requests: FetchRequests;
  readonly #events: ReaderEvents;
  readonly #readings = new Map<string, Reading>();
  readonly #busy = new Set<number>();
  readonly #closed = new AbortController();
  #wake = new AbortController();
  readonly #loop: Promise<void>;

  constructor(options: KafkaClientOptions, requests: FetchRequests, events: ReaderEvents) {
    this.#options = options;
    this.#requests = requests;
    this.#events = events;
    this.#loop = this.#run();
  }

  read({ topic, partition, offset }: PartitionOffset): void {
    this.#readings.set(partitionKey({ topic, partition }), {
      topic,
      partition,
      offset,
      paused: false,
      fetching: false,
      failures: 0,
      notBeforeMs: 0,
      askedAtMs: 0,
    });
    this.#wake.abort();
  }

  pause(partition: TopicPartition): void {
    const reading = this.#readings.get(partitionKey(partition));
    if (reading) reading.paused = true;
  }

  resume(partition: TopicPartition): void {
    const reading = this.#readings.get(partitionKey(partition));
    if (!reading) return;
    reading.paused = false;
    this.#wake.abort();
  }

  async close(): Promise<void> {
    this.#readings.clear();
    this.#closed.abort();
    this.#wake.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      if (this.#wake.signal.aborted) this.#wake = new AbortController();
      const dueMs = await this.#fetchWhatIsDue();
      await pause(this.#options.clock, dueMs, this.#wake.signal);
    }
  }

  /** Starts a fetch at each idle broker. Returns milliseconds until the next check. */
  async #fetchWhatIsDue(): Promise<number> {
    const nowMs = this.#options.clock.monotonic();
    const waiting = [...this.#readings.values()].filter(({ paused, fetching }) => !paused && !fetching);
    const due = waiting.filter(({ notBeforeMs }) => notBeforeMs <= nowMs);
    const byLeader = await this.#byIdleLeader(due.toSorted((a, b) => a.askedAtMs - b.askedAtMs));
    for (const [leader, readings] of byLeader) void this.#fetchFrom(leader, readings);
    const later = waiting.map(({ notBeforeMs }) => notBeforeMs - nowMs).filter((ms) => ms > 0);
    return Math.max(1, Math.min(this.#options.metadataMaxAgeMs, ...later));
  }

  async #byIdleLeader(readings: readonly Reading[]): Promise<Map<number, Reading[]>> {
    const leaders = await Promise.all(readings.map((reading) => this.#leaderOf(reading)));
    const byLeader = new Map<number, Reading[]>();
    for (const [i, reading] of readings.entries()) {
      const leader = leaders[i] ?? null;
      if (leader === null || this.#busy.has(leader) || reading.paused || !this.#isCurrent(reading)) continue;
      const others = byLeader.get(leader);
      if (others) others.push(reading);
      else byLeader.set(leader, [reading]);
    }
    return byLeader;
  }

  async #leaderOf(reading: Reading): Promise<number | null> {
    try {
      return await this.#requests.leaderOf(reading);
    } catch (error) {
      this.#backOff(reading, error);
      return null;
    }
  }

  async #fetchFrom(leader: number, readings: readonly Reading[]): Promise<void> {
    this.#busy.add(leader);
    const asked = new Map(readings.map((reading) => [partitionKey(reading), reading]));
    for (const reading of readings) {
      reading.fetching = true;
      reading.askedAtMs = this.#options.clock.monotonic();
    }
    try {
      const wanted = readings.map(({ topic, partition, offset }) => ({ topic, partition, offset }));
      for (const fetched of await this.#requests.fetch(leader, wanted)) {
        const reading = asked.get(partitionKey(fetched));
        // The partition may have been closed or restarted during the fetch.
        if (reading && this.#isCurrent(reading)) this.#take(reading, fetched);
      }
    } catch (error) {
      for (const reading of readings) this.#backOff(reading, error);
    } finally {
      this.#busy.delete(leader);
      for (const reading of readings) reading.fetching = false;
      this.#wake.abort();
    }
  }

  #take(reading: Reading, { errorName, batches, aborted, highWatermark }: FetchedPartition): void {
    const { topic, partition, offset } = reading;
    if (errorName === "OFFSET_OUT_OF_RANGE") {
      void this.#restart(reading);
      return;
    }
    if (errorName !== null) {
      this.#backOff(reading, brokerError(errorName, `fetching ${partitionKey(reading)}`, undefined));
      return;
    }
    const split = splitBatches(batches, offset, aborted);
    reading.failures = 0;
    reading.offset = split.nextOffset ?? offset;
    const { offset: nextOffset } = reading;
    this.#events.onFetched({
      topic,
      partition,
      batches: split.batches,
      nextOffset,
      endOffset: highWatermark,
    });
  }

  /** Handles an offset that retention removed, or that a recreated topic never had. Never rejects. */
  async #restart(reading: Reading): Promise<void> {
    const doing = `fetching ${partitionKey(reading)}`;
    const { offset } = reading;
    reading.notBeforeMs = Infinity;
    try {
      const start = await this.#requests.startOf(reading);
      const message = `${doing} goes on at ${start}: the broker does not have ${offset}`;
      this.#events.onProblem(doing, kafkaError("invalid_offset", message));
      reading.offset = start;
      reading.notBeforeMs = 0;
    } catch (error) {
      this.#backOff(reading, error);
    }
    this.#wake.abort();
  }

  #isCurrent(reading: Reading): boolean {
    return this.#readings.get(partitionKey(reading)) === reading;
  }

  /** Delays only this partition. */
  #backOff(reading: Reading, cause: unknown): void {
    if (!this.#isCurrent(reading)) return;
    const error: BusError = this.#requests.errors.toBusError(cause, `fetching ${partitionKey(reading)}`);
    this.#requests.forget(reading.topic);
    reading.failures += 1;
    const serious = isSerious(error, reading.failures);
    const askedMs = serious ? (error.retryAfterMs ?? 0) : 0;
    const pauseMs = Math.max(askedMs, retryDelayMs(this.#options, reading.failures));
    reading.notBeforeMs = this.#options.clock.monotonic() + pauseMs;
    if (serious) this.#events.onProblem(`fetching ${reading.topic}`, error);
  }
}
