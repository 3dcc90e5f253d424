import { pause } from "@isochrone/runtime";

import { BusError } from "../../ports/errors.ts";
import type { SubscribeOptions, Subscription, TopicPartition } from "../../ports/port.ts";
import type {
  Fetched,
  KafkaClient,
  KafkaReader,
  PackedBatch,
  Position,
  ReaderEvents,
} from "./client/client.ts";
import { isSerious, kafkaError } from "./client/kafka-errors.ts";
import type { KafkaClientOptions } from "./client/options.ts";
import { PartitionReader } from "./partition-reader.ts";
import type { BatchBounds } from "./partition-reader.ts";
import { partitionKey } from "./client/records.ts";
import { retryDelayMs } from "./client/retry-delay.ts";

const DEFAULT_BATCH: BatchBounds = { records: 500, bytes: 4 * 1024 * 1024 };
/** Buffer level at which a paused partition resumes. */
const RESUME_AT = 0.5;

export class KafkaSubscription implements Subscription, ReaderEvents {
  readonly #options: SubscribeOptions;
  readonly #client: KafkaClientOptions;
  readonly #onClosed: (subscription: KafkaSubscription) => void;
  readonly #bounds: BatchBounds;
  readonly #readers = new Map<string, PartitionReader>();
  readonly #joined = Promise.withResolvers<void>();
  readonly #closed = new AbortController();
  #reader: KafkaReader | null = null;
  #isJoined = false;
  #isCaughtUp = false;
  #closing: Promise<void> | null = null;

  constructor(
    options: SubscribeOptions,
    client: KafkaClientOptions,
    onClosed: (subscription: KafkaSubscription) => void,
  ) {
    const { topics, maxBatchRecords, maxBatchBytes } = options;
    if (topics.length === 0) throw new BusError("invalid_option", "topics to subscribe to must not be empty");
    this.#options = options;
    this.#client = client;
    this.#onClosed = onClosed;
    this.#bounds = {
      records: positive(topics, "maxBatchRecords", maxBatchRecords ?? DEFAULT_BATCH.records),
      bytes: positive(topics, "maxBatchBytes", maxBatchBytes ?? DEFAULT_BATCH.bytes),
    };
  }

  /** Resolves when partitions are known, or after `joinTimeoutMs`: services can start without brokers. */
  async start(client: KafkaClient): Promise<void> {
    const { topics, from } = this.#options;
    if (this.#closed.signal.aborted) return;
    this.#reader = client.read({ topics, from, events: this });
    const { clock, joinTimeoutMs, logger } = this.#client;
    const settled = new AbortController();
    const signal = AbortSignal.any([settled.signal, this.#closed.signal]);
    const late = pause(clock, joinTimeoutMs, signal).then(() => !signal.aborted);
    const inBackground = await Promise.race([this.#joined.promise.then(() => false), late]);
    settled.abort();
    if (inBackground) logger?.warn("kafka subscription goes on joining in the background", { topics });
  }

  async close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    await this.#closing;
  }

  onJoined(): void {
    this.#isJoined = true;
    this.#joined.resolve();
    this.#noteCaughtUp();
  }

  onFound(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) this.#readers.set(partitionKey(partition), this.#readerOf(partition));
    void this.#begin(partitions);
  }

  onFetched(fetched: Fetched): void {
    const reader = this.#readers.get(partitionKey(fetched));
    if (!reader) return;
    reader.put(fetched);
    this.#regulate(reader, this.#heldBytes());
  }

  onProblem(doing: string, error: BusError): void {
    this.#client.logger?.warnOnce(
      `kafka:${this.#options.topics.join()}:${doing}:${error.code}`,
      "kafka subscription has a problem and goes on",
      { topics: this.#options.topics, doing, error },
    );
  }

  async #shutDown(): Promise<void> {
    this.#closed.abort();
    await this.#reader?.close();
    await Promise.all([...this.#readers.values()].map((reader) => reader.stop()));
    this.#onClosed(this);
  }

  #readerOf(partition: TopicPartition): PartitionReader {
    const { clock, logger, redeliveryDelayMs } = this.#client;
    return new PartitionReader({
      partition,
      bounds: this.#bounds,
      onBatch: (batch) => this.#options.onBatch(batch),
      onUnreadable: (batch, reason) => this.#reportUnreadable(partition, batch, reason),
      onTaken: () => this.#regulateAll(),
      onCaughtUp: () => this.#noteCaughtUp(),
      clock,
      logger,
      redeliveryDelayMs,
    });
  }

  /** Notifies the subscriber once, when each known partition was handled up to its end. */
  #noteCaughtUp(): void {
    if (this.#isCaughtUp || !this.#isJoined || this.#closed.signal.aborted) return;
    if ([...this.#readers.values()].some(({ isCaughtUp }) => !isCaughtUp)) return;
    this.#isCaughtUp = true;
    this.#options.onCaughtUp?.();
  }

  #reportUnreadable(partition: TopicPartition, { from, to }: PackedBatch, reason: string): void {
    const doing = `reading ${partitionKey(partition)}`;
    const what = `the batch from offset ${from} to ${to} can't be read and is passed over: ${reason}`;
    this.onProblem(doing, kafkaError("rejected", `${doing} failed: ${what}`));
  }

  async #begin(partitions: readonly TopicPartition[]): Promise<void> {
    for (const position of await this.#positionsOf(partitions)) {
      const { topic, partition, nextOffset } = position;
      this.#readers.get(partitionKey(position))?.begin(position);
      this.#reader?.read({ topic, partition, offset: nextOffset });
    }
  }

  /** Retries until the brokers answer. Returns none if the subscription closes. Never rejects. */
  async #positionsOf(partitions: readonly TopicPartition[]): Promise<readonly Position[]> {
    const doing = "asking where to begin";
    const { signal } = this.#closed;
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        return (await this.#reader?.positions(partitions)) ?? [];
      } catch (cause) {
        const error =
          cause instanceof BusError ? cause : new BusError("unavailable", `${doing} failed`, { cause });
        const serious = isSerious(error, attempt);
        if (serious) this.onProblem(doing, error);
        const askedMs = serious ? (error.retryAfterMs ?? 0) : 0;
        await pause(this.#client.clock, Math.max(askedMs, retryDelayMs(this.#client, attempt)), signal);
      }
    }
    return [];
  }

  #regulateAll(): void {
    const heldBytes = this.#heldBytes();
    for (const reader of this.#readers.values()) this.#regulate(reader, heldBytes);
  }

  #heldBytes(): number {
    let heldBytes = 0;
    for (const { bufferedBytes } of this.#readers.values()) heldBytes += bufferedBytes;
    return heldBytes;
  }

  /** Back-pressure: pauses partitions with full buffers; if the total is too large, all but empty ones. */
  #regulate(reader: PartitionReader, heldBytes: number): void {
    const crowded = heldBytes >= this.#client.maxBufferedBytes && reader.bufferedBytes > 0;
    if (!reader.paused && (reader.fill >= 1 || crowded)) {
      reader.paused = true;
      this.#reader?.pause(reader.partition);
    } else if (reader.paused && reader.fill < RESUME_AT && !crowded) {
      reader.paused = false;
      this.#reader?.resume(reader.partition);
    }
  }
}

function positive(topics: readonly string[], name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new BusError(
    "invalid_option",
    `${name} of a subscription to ${topics.join(", ")} must be a whole number of at least 1, got ${value}`,
  );
}
