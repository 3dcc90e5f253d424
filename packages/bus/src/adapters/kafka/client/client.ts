// What the Kafka bus needs of a client library: one file per library implements it, everything else is
// shared.

import type { BusError } from "../../../ports/errors.ts";
import type { ReadFrom, TopicPartition } from "../../../ports/port.ts";

/** Kafka's own limit of a record batch on our topics. */
export const MAX_RECORD_BYTES = 1024 * 1024;

/** A record on its way to a broker. `null` as a value is a tombstone. */
export interface KafkaRecord {
  readonly key: Buffer;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * A record as a broker gave it. Nothing is known about who wrote it: key, value and headers may be missing or
 * odd.
 */
export interface FetchedRecord {
  readonly offset: number;
  /** The broker's append time (our topics say LogAppendTime), ms since the epoch. */
  readonly timestampMs: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * A batch as it came: it is unpacked when its records are wanted, because they may take many times its room.
 */
export interface PackedBatch {
  /** The first offset that is wanted of it. */
  readonly from: number;
  /** Its last offset. */
  readonly to: number;
  readonly bytes: Buffer;
}

/** What one fetch gave of one partition. */
export interface Fetched extends TopicPartition {
  /** In order of their offsets; may be none. */
  readonly batches: readonly PackedBatch[];
  /** Offset of the next record to fetch: the end of what came, control records included. */
  readonly nextOffset: number;
  /** The high watermark that came with them; null where the library does not tell. */
  readonly endOffset: number | null;
}

/** Where a reader begins in a partition, and the partition's end. */
export interface Position extends TopicPartition {
  /** Offset of the next record to read. */
  readonly nextOffset: number;
  /** Offset that the next published record will get. */
  readonly endOffset: number;
}

export interface PartitionOffset extends TopicPartition {
  readonly offset: number;
}

/**
 * What a reader hears from its client. The promises of the handlers never reject: failures of our users' code
 * are dealt with by whoever implements this.
 */
export interface ReaderEvents {
  /** All topics that exist are known. Called once, after `onFound` of their partitions. */
  onJoined(): void;
  /** The partitions are to be read; nothing is fetched of them before `read`. */
  onFound(partitions: readonly TopicPartition[]): void;
  /**
   * Batches of a partition, in order, no gaps, each once. Called synchronously, also with none when only the
   * end offset is new. After `pause` only what had been asked of the broker before may still come.
   */
  onFetched(fetched: Fetched): void;
  /** Something failed; the client goes on by itself, with back-off. For the log. */
  onProblem(doing: string, error: BusError): void;
}

export interface ReadOptions {
  readonly topics: readonly string[];
  readonly from: ReadFrom;
  readonly events: ReaderEvents;
}

/** Reads partitions, whatever fails, until `close`. */
export interface KafkaReader {
  /** Where to begin in partitions that were found, asked of the brokers. */
  positions(partitions: readonly TopicPartition[]): Promise<readonly Position[]>;
  /**
   * Begins to fetch a partition at `offset`, once after `onFound`. Where the broker has no such offset, at
   * the oldest it has.
   */
  read(position: PartitionOffset): void;
  /** Back-pressure: fetch no more of this partition until `resume`, never at the cost of other partitions. */
  pause(partition: TopicPartition): void;
  resume(partition: TopicPartition): void;
  /** Nothing is fetched from here on. Never rejects. */
  close(): Promise<void>;
}

/** What a topic is to be, or is. */
export interface TopicDescription {
  readonly topic: string;
  readonly partitions: number;
  /** Of the partition that has the fewest replicas. */
  readonly replicationFactor: number;
  /** Kafka's own names, such as `cleanup.policy`, to their values in force. */
  readonly config: Readonly<Record<string, string>>;
}

/**
 * Every method rejects with a BusError and nothing else (see kafka-errors.ts), within a bounded time.
 * Connections are made when first needed.
 */
export interface KafkaClient {
  /** From metadata at most `metadataMaxAgeMs` old. Rejects with `unknown_topic`. */
  partitionCount(topic: string): Promise<number>;
  /**
   * Resolves when all in-sync replicas have all records, in this order. Callers wait for the one before the
   * next on the same partition. Rejects (after bounded retries) within `deliveryTimeoutMs`.
   */
  produce(partition: TopicPartition, records: readonly KafkaRecord[]): Promise<void>;
  /** Reads all partitions of the topics. */
  read(options: ReadOptions): KafkaReader;
  /** How many brokers the cluster has at present. */
  brokerCount(): Promise<number>;
  /** The topic as the cluster has it; null when it has none of that name. */
  describeTopic(topic: string): Promise<TopicDescription | null>;
  /** Creates the topic with this configuration; resolves with false when one of that name exists already. */
  createTopic(description: TopicDescription): Promise<boolean>;
  /** Ends what is under way and all connections. Readers are closed before, by their owner. Never rejects. */
  close(): Promise<void>;
}
