// The client interface that each Kafka library implements. All other code is shared.

import type { BusError } from "../../../ports/errors.ts";
import type { ReadFrom, TopicPartition } from "../../../ports/port.ts";

/** Kafka's limit per record batch on our topics. */
export const MAX_RECORD_BYTES = 1024 * 1024;

/** A record to publish. A `null` value is a tombstone. */
export interface KafkaRecord {
  readonly key: Buffer;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** A fetched record. Any client may have written it: key, value and headers may be missing or invalid. */
export interface FetchedRecord {
  readonly offset: number;
  /** The broker's append time (topics use LogAppendTime), Unix milliseconds. */
  readonly timestampMs: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** A fetched batch, still compressed. It is unpacked on demand, because it may grow many times. */
export interface PackedBatch {
  /** First wanted offset. */
  readonly from: number;
  /** Last offset. */
  readonly to: number;
  readonly bytes: Buffer;
}

export interface Fetched extends TopicPartition {
  /** In offset order; may be empty. */
  readonly batches: readonly PackedBatch[];
  /** Offset of the next record to fetch, after all that was fetched, control records included. */
  readonly nextOffset: number;
  /** High watermark of the fetch; null if the library does not report it. */
  readonly endOffset: number | null;
}

export interface Position extends TopicPartition {
  readonly nextOffset: number;
  /** Offset of the next published record. */
  readonly endOffset: number;
}

export interface PartitionOffset extends TopicPartition {
  readonly offset: number;
}

/** Promises of the handlers must not reject: the implementer handles errors of the subscriber. */
export interface ReaderEvents {
  onJoined(): void;
  /** Reports new partitions. Nothing is fetched before `read`. */
  onFound(partitions: readonly TopicPartition[]): void;
  /**
   * Reports batches of a partition, in order, without gaps, each once. Called synchronously, also without
   * batches if only the end offset changed. After `pause`, only pending fetches may still arrive.
   */
  onFetched(fetched: Fetched): void;
  /** Reports a failure for the log. The client retries with backoff. */
  onProblem(doing: string, error: BusError): void;
}

export interface ReadOptions {
  readonly topics: readonly string[];
  readonly from: ReadFrom;
  readonly events: ReaderEvents;
}

export interface KafkaReader {
  positions(partitions: readonly TopicPartition[]): Promise<readonly Position[]>;
  /** Starts at `offset`, once after `onFound`. If the broker lacks it, starts at the oldest offset. */
  read(position: PartitionOffset): void;
  /** Pauses fetches of this partition until `resume`, without delaying other partitions. */
  pause(partition: TopicPartition): void;
  resume(partition: TopicPartition): void;
  close(): Promise<void>;
}

export interface TopicDescription {
  readonly topic: string;
  readonly partitions: number;
  /** Replicas of the partition that has the fewest. */
  readonly replicationFactor: number;
  /** Effective values by Kafka's names, such as `cleanup.policy`. */
  readonly config: Readonly<Record<string, string>>;
}

export interface KafkaClient {
  /** Uses metadata at most `metadataMaxAgeMs` old. Rejects with `unknown_topic`. */
  partitionCount(topic: string): Promise<number>;
  /**
   * Resolves when all in-sync replicas have all records, in order. Per partition, callers await one call
   * before the next. Rejects after bounded retries within `deliveryTimeoutMs`.
   */
  produce(partition: TopicPartition, records: readonly KafkaRecord[]): Promise<void>;
  read(options: ReadOptions): KafkaReader;
  brokerCount(): Promise<number>;
  /** Returns null if the topic does not exist. */
  describeTopic(topic: string): Promise<TopicDescription | null>;
  /** Creates the topic; resolves with false if it exists. */
  createTopic(description: TopicDescription): Promise<boolean>;
  /** Aborts requests and closes connections. The owner closes readers first. Never rejects. */
  close(): Promise<void>;
}
