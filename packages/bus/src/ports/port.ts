// The bus: keyed records in partitioned topics. Each subscriber reads all partitions from a chosen time,
// every record at least once.

export interface OutgoingRecord {
  /** Records with the same topic and key keep their order. */
  readonly key: string;
  /**
   * An empty value (0 bytes) is a tombstone: it deletes the key. A compacting bus removes the key's records
   * and later the tombstone. Subscribers receive an empty value.
   */
  readonly value: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

export interface BusRecord extends OutgoingRecord {
  readonly topic: string;
  readonly partition: number;
  /** Ascending within the partition. Only the memory bus guarantees no gaps. */
  readonly offset: number;
  /** The bus's (broker's) append time, Unix milliseconds. */
  readonly appendedAtMs: number;
}

/** Records of one partition, in order, never empty. They may share memory: copy records that you retain. */
export interface Batch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly BusRecord[];
  /** The partition's next offset when the batch was made, for consumer lag. Null if the bus has none. */
  readonly endOffset: number | null;
}

/** `sinceMs`: start at the first record appended at this time or later, Unix milliseconds. */
export type ReadFrom = "earliest" | "latest" | { readonly sinceMs: number };

export interface SubscribeOptions {
  readonly topics: readonly string[];
  readonly from: ReadFrom;
  /** @default 500 */
  readonly maxBatchRecords?: number;
  /** Maximum bytes per handler call; a larger record arrives alone. @default 4 MiB */
  readonly maxBatchBytes?: number;
  /**
   * Awaited before the partition's next batch (back-pressure). A throw redelivers the batch after a pause.
   */
  onBatch(batch: Batch): Promise<void>;
  /** Called once, when each partition was handled up to its end. A missing topic counts as empty. */
  onCaughtUp?(): void;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export interface Subscription {
  /** Resolves when running handlers have settled. Idempotent. Never await it inside a handler: deadlock. */
  close(): Promise<void>;
}

export interface Publisher {
  /**
   * Resolves when the bus is responsible for all records; rejects with BusError (see `retryable`). Callers
   * may reuse values afterwards. A rejected publish may still have succeeded (at least once).
   */
  publish(
    topic: string,
    records: readonly OutgoingRecord[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<void>;
}

export interface Bus extends Publisher {
  /** Rejects with BusError `unknown_topic` if the topic doesn't exist and isn't created automatically. */
  partitionCount(topic: string): Promise<number>;
  /**
   * Resolves when the partitions are known. Later records then arrive even with `from: "latest"`. If brokers
   * are away, resolves after a bounded time and joins in the background. Later partitions and topics are read
   * from their beginning.
   */
  subscribe(options: SubscribeOptions): Promise<Subscription>;
  /** Closes every subscription first. Pending and later calls fail with BusError `closed`. Idempotent. */
  close(): Promise<void>;
}

/**
 * Header with the total number of records that the publisher dropped from the stream (source and epoch),
 * decimal. Cumulative, so that it survives losses of records. Absent: 0. A sequence gap that it does not
 * cover was lost in transit.
 */
export const DROPPED_HEADER = "isochrone-dropped";
