import { pause } from "@isochrone/runtime";

import { BusError } from "../../ports/errors.ts";
import type { SubscribeOptions, Subscription, TopicPartition } from "../../ports/port.ts";
import type {
  Fetched,
  KafkaClient,
  KafkaMember,
  MemberEvents,
  PackedBatch,
  Position,
} from "./client/client.ts";
import { CommitQueue } from "./commit-queue.ts";
import { isSerious, kafkaError } from "./client/kafka-errors.ts";
import type { KafkaClientOptions } from "./client/options.ts";
import { PartitionReader } from "./partition-reader.ts";
import type { BatchBounds } from "./partition-reader.ts";
import { partitionKey } from "./client/records.ts";
import { retryDelayMs } from "./client/retry-delay.ts";

const DEFAULT_BATCH: BatchBounds = { records: 500, bytes: 4 * 1024 * 1024 };
/** Fetching of a partition goes on when its buffer is this empty again. */
const RESUME_AT = 0.5;

/**
 * One subscriber of a group, whatever the library: what its handlers are told when, and how much it may hold.
 */
export class KafkaSubscription implements Subscription, MemberEvents {
  readonly #options: SubscribeOptions;
  readonly #client: KafkaClientOptions;
  readonly #onClosed: (subscription: KafkaSubscription) => void;
  readonly #bounds: BatchBounds;
  /** For messages: the group, or the topics that are read without one. */
  readonly #name: string;
  readonly #readers = new Map<string, PartitionReader>();
  readonly #endings = new WeakMap<PartitionReader, Promise<void>>();
  readonly #commits = new CommitQueue((offsets) => this.#joinedMember().commit(offsets));
  readonly #joined = Promise.withResolvers<void>();
  readonly #closed = new AbortController();
  /**
   * Where partitions without a commit begin for a group from "latest": their ends when the subscription was
   * made.
   */
  #ends = new Map<string, readonly number[]>();
  #starting: Promise<void> = Promise.resolve();
  #isJoined = false;
  #isCaughtUp = false;
  #member: KafkaMember | null = null;
  #closing: Promise<void> | null = null;

  constructor(
    options: SubscribeOptions,
    client: KafkaClientOptions,
    onClosed: (subscription: KafkaSubscription) => void,
  ) {
    if (options.topics.length === 0)
      throw new BusError("invalid_option", `topics of group ${options.group} must not be empty`);
    this.#name = options.group ?? options.topics.join(" ");
    this.#options = options;
    this.#client = client;
    this.#onClosed = onClosed;
    this.#bounds = {
      records: positive(this.#name, "maxBatchRecords", options.maxBatchRecords ?? DEFAULT_BATCH.records),
      bytes: positive(this.#name, "maxBatchBytes", options.maxBatchBytes ?? DEFAULT_BATCH.bytes),
    };
  }

  /**
   * Resolves when the member has joined, or after `joinTimeoutMs`: joining then goes on in the background, so
   * that a service starts without its brokers.
   */
  async start(client: KafkaClient): Promise<void> {
    this.#starting = this.#join(client);
    const { clock, joinTimeoutMs, logger } = this.#client;
    const settled = new AbortController();
    const signal = AbortSignal.any([settled.signal, this.#closed.signal]);
    const late = pause(clock, joinTimeoutMs, signal).then(() => !signal.aborted);
    const inBackground = await Promise.race([this.#joined.promise.then(() => false), late]);
    settled.abort();
    if (inBackground)
      logger?.warn("kafka subscription goes on joining in the background", { group: this.#name });
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

  async onAssigned(partitions: readonly TopicPartition[]): Promise<void> {
    const readers = partitions.map((partition) => this.#readerOf(partition));
    for (const reader of readers) this.#readers.set(partitionKey(reader.partition), reader);
    await this.#announce(readers);
  }

  async onRevoked(partitions: readonly TopicPartition[]): Promise<void> {
    const readers = this.#readersOf(partitions);
    await this.#end(readers);
    for (const reader of readers) reader.release();
    this.#forget(readers);
  }

  async onLost(partitions: readonly TopicPartition[]): Promise<void> {
    const readers = this.#readersOf(partitions);
    for (const reader of readers) reader.release();
    await this.#end(readers);
    this.#forget(readers);
  }

  onFetched(fetched: Fetched): void {
    const reader = this.#readers.get(partitionKey(fetched));
    if (!reader) return;
    reader.put(fetched);
    this.#regulate(reader, this.#heldBytes());
  }

  onProblem(doing: string, error: BusError): void {
    const group = this.#name;
    this.#client.logger?.warnOnce(
      `kafka:${group}:${doing}:${error.code}`,
      "kafka subscription has a problem and goes on",
      { group, doing, error },
    );
  }

  async #join(client: KafkaClient): Promise<void> {
    const { group, topics, from } = this.#options;
    if (from === "latest") {
      await this.#untilDone("asking for the ends of topics", this.#closed.signal, async () => {
        const ends = await Promise.all(topics.map((topic) => endsOf(client, topic)));
        this.#ends = new Map(topics.map((topic, i) => [topic, ends[i] ?? []]));
      });
    }
    if (this.#closed.signal.aborted) return;
    const sinceMs = typeof from === "string" ? null : from.sinceMs;
    this.#member =
      group === undefined
        ? client.assign({ topics, sinceMs, events: this })
        : client.join({ group, topics, events: this });
  }

  async #shutDown(): Promise<void> {
    this.#closed.abort();
    await this.#starting;
    await this.#member?.close();
    // A member that never had the chance to give its partitions back.
    await this.onLost([...this.#readers.values()].map(({ partition }) => partition));
    this.#onClosed(this);
  }

  #joinedMember(): KafkaMember {
    if (this.#member) return this.#member;
    throw new BusError("not_assigned", `group ${this.#name} has not been joined`);
  }

  #readerOf(partition: TopicPartition): PartitionReader {
    const { clock, logger, redeliveryDelayMs } = this.#client;
    const reader: PartitionReader = new PartitionReader({
      partition,
      group: this.#name,
      bounds: this.#bounds,
      onBatch: (batch) => this.#options.onBatch(batch),
      commit: (offset) => this.#commits.add(partition, offset),
      onUnreadable: (batch, reason) => this.#reportUnreadable(partition, batch, reason),
      onTaken: () => this.#regulateAll(),
      onCaughtUp: () => this.#noteCaughtUp(),
      clock,
      logger,
      redeliveryDelayMs,
    });
    return reader;
  }

  /** Tells the subscriber, once, when all partitions are known and each was handled up to its end. */
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

  #readersOf(partitions: readonly TopicPartition[]): PartitionReader[] {
    return partitions
      .map((partition) => this.#readers.get(partitionKey(partition)))
      .filter((reader) => reader !== undefined);
  }

  #forget(readers: readonly PartitionReader[]): void {
    for (const reader of readers) {
      const key = partitionKey(reader.partition);
      if (this.#readers.get(key) === reader) this.#readers.delete(key);
    }
  }

  /**
   * Ends reading, once: running handlers settle, then onRevoked. What is being revoked may be lost meanwhile.
   * Never rejects.
   */
  async #end(readers: readonly PartitionReader[]): Promise<void> {
    const fresh = readers.filter((reader) => !this.#endings.has(reader));
    const ending = this.#endNow(fresh);
    for (const reader of fresh) this.#endings.set(reader, ending);
    await Promise.all(readers.map((reader) => this.#endings.get(reader) ?? ending));
  }

  async #endNow(readers: readonly PartitionReader[]): Promise<void> {
    if (readers.length === 0) return;
    await Promise.all(readers.map((reader) => reader.stop()));
    try {
      await this.#options.onRevoked?.(readers.map(({ partition }) => partition));
    } catch (error) {
      const group = this.#name;
      this.#client.logger?.error("bus revocation handler failed", { group, error });
    }
  }

  /**
   * Reading begins after onAssigned. Never rejects. Partitions that are revoked meanwhile drop out between
   * two attempts, never during one.
   */
  async #announce(readers: readonly PartitionReader[]): Promise<void> {
    let open = readers;
    while (open.length > 0) {
      try {
        await this.#options.onAssigned?.(open.map(({ partition }) => partition));
        await this.#beginAll(open);
        return;
      } catch (error) {
        const group = this.#name;
        this.#client.logger?.error("bus assignment handler failed", { group, error });
      }
      await pause(this.#client.clock, this.#client.redeliveryDelayMs, anyOf(open));
      for (const reader of open.filter(({ signal }) => signal.aborted)) reader.begin();
      open = open.filter(({ signal }) => !signal.aborted);
    }
  }

  async #beginAll(readers: readonly PartitionReader[]): Promise<void> {
    let positions = new Map<string, Position>();
    await this.#untilDone("asking where to begin", anyOf(readers), async () => {
      const open = readers.filter(({ signal }) => !signal.aborted).map(({ partition }) => partition);
      const found = open.length === 0 ? [] : await this.#joinedMember().positions(open);
      positions = new Map(found.map((position) => [partitionKey(position), position]));
    });
    // One of them was revoked: the others still have to find their place.
    const lost = readers.filter(({ signal }) => signal.aborted);
    for (const reader of lost) reader.begin();
    const left = readers.filter((reader) => !lost.includes(reader));
    if (lost.length > 0 && left.length > 0) {
      await this.#beginAll(left);
      return;
    }
    for (const reader of left) this.#begin(reader, positions.get(partitionKey(reader.partition)));
  }

  #begin(reader: PartitionReader, position: Position | undefined): void {
    const offset = position === undefined ? 0 : (position.committed ?? this.#firstOffset(position));
    if (position) {
      const { topic, partition } = position;
      this.#member?.read({ topic, partition, offset });
      // Pinned, or a successor would begin at a later end and miss what lies between.
      if (this.#options.group !== undefined && position.committed === null && this.#options.from === "latest")
        void this.#commits.add(reader.partition, offset).catch(() => undefined);
    }
    reader.begin(position && { ...position, nextOffset: offset });
  }

  #firstOffset({ topic, partition, startOffset, endOffset, sinceOffset }: Position): number {
    if (this.#options.from === "earliest") return startOffset;
    if (sinceOffset !== null) return sinceOffset;
    // A partition that came after the subscription is new as a whole.
    const ends = this.#ends.get(topic);
    return ends === undefined ? endOffset : (ends[partition] ?? startOffset);
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

  /**
   * Back-pressure: a full buffer fetches no more; when all together are too full, only empty ones still do.
   */
  #regulate(reader: PartitionReader, heldBytes: number): void {
    const crowded = heldBytes >= this.#client.maxBufferedBytes && reader.bufferedBytes > 0;
    if (!reader.paused && (reader.fill >= 1 || crowded)) {
      reader.paused = true;
      this.#member?.pause(reader.partition);
    } else if (reader.paused && reader.fill < RESUME_AT && !crowded) {
      reader.paused = false;
      this.#member?.resume(reader.partition);
    }
  }

  /** Tries until it succeeds or the signal aborts. Never rejects. */
  async #untilDone(doing: string, signal: AbortSignal, run: () => Promise<void>): Promise<void> {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        await run();
        return;
      } catch (cause) {
        const error =
          cause instanceof BusError ? cause : new BusError("unavailable", `${doing} failed`, { cause });
        const serious = isSerious(error, attempt);
        if (serious) this.onProblem(doing, error);
        const askedMs = serious ? (error.retryAfterMs ?? 0) : 0;
        await pause(this.#client.clock, Math.max(askedMs, retryDelayMs(this.#client, attempt)), signal);
      }
    }
  }
}

/** A topic that is not there yet has no end: all that comes is new. */
async function endsOf(client: KafkaClient, topic: string): Promise<readonly number[]> {
  try {
    return await client.endOffsets(topic);
  } catch (error) {
    if (error instanceof BusError && error.code === "unknown_topic") return [];
    throw error;
  }
}

/** Aborts with the first of them. */
function anyOf(readers: readonly PartitionReader[]): AbortSignal {
  return AbortSignal.any(readers.map(({ signal }) => signal));
}

function positive(group: string, name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new BusError(
    "invalid_option",
    `${name} of group ${group} must be a whole number of at least 1, got ${value}`,
  );
}
