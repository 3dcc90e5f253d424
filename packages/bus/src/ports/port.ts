// The bus as Isochrone needs it: keyed records in partitioned topics. Every subscriber reads all partitions,
// from a time that it chooses, each record at least once.

export interface OutgoingRecord {
  /** Records with one key of one topic arrive in the order of their publishing. */
  readonly key: string;
  /**
   * An empty value (0 bytes) is a tombstone: nothing holds for its key any more, and a bus that compacts a
   * topic removes what it had of the key, and in the end the tombstone itself. It arrives as an empty value.
   */
  readonly value: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

export interface BusRecord extends OutgoingRecord {
  readonly topic: string;
  readonly partition: number;
  /** Ascending within the partition, without gaps on the memory bus, possibly with gaps on others. */
  readonly offset: number;
  /** When the bus appended it (the broker's append time), ms since the epoch. */
  readonly appendedAtMs: number;
}

/**
 * Records of one partition, in order, never empty. Their bytes may share memory: of a few that are to be kept
 * for long, keep copies.
 */
export interface Batch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly BusRecord[];
  /**
   * Offset that the partition's next record will get, as far as was known when the batch was made: what lies
   * between it and the batch's end is the consumer's lag. Null where the bus does not tell.
   */
  readonly endOffset: number | null;
}

/** `sinceMs`: the first record that the bus appended at this time or later, ms since the epoch. */
export type ReadFrom = "earliest" | "latest" | { readonly sinceMs: number };

export interface SubscribeOptions {
  readonly topics: readonly string[];
  /** Where reading begins. */
  readonly from: ReadFrom;
  /** @default 500 */
  readonly maxBatchRecords?: number;
  /** Bounds what one handler call has in memory; a single larger record still comes, alone. @default 4 MiB */
  readonly maxBatchBytes?: number;
  /**
   * Awaited: the next batch of the same partition comes only after it settles (back-pressure). A throw is
   * logged, and redelivers the batch after a pause.
   */
  onBatch(batch: Batch): Promise<void>;
  /**
   * Called once, when the subscriber has handled each partition up to its end. Topics that do not exist count
   * as empty.
   */
  onCaughtUp?(): void;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export interface Subscription {
  /**
   * Stops delivery; resolves when the running handlers have settled. Repeating it is harmless. Never await it
   * inside this subscription's own handlers: it waits for them.
   */
  close(): Promise<void>;
}

export interface Publisher {
  /**
   * Resolves when the bus has taken responsibility for all records; rejects with a BusError (`retryable` says
   * whether to try again). The values may be reused as soon as it has settled. A rejected publish may still
   * have happened (at least once).
   */
  publish(
    topic: string,
    records: readonly OutgoingRecord[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<void>;
}

export interface Bus extends Publisher {
  /**
   * How many partitions the topic has. Rejects with BusError `unknown_topic` where topics must be made first
   * and this one was not.
   */
  partitionCount(topic: string): Promise<number>;
  /**
   * Resolves when the partitions are known: what is published from then on arrives even with
   * `from: "latest"`. Where brokers are away it resolves after a bounded time all the same, and goes on in
   * the background. Partitions and topics that are made later are read from their beginning.
   */
  subscribe(options: SubscribeOptions): Promise<Subscription>;
  /**
   * Closes every subscription first. Later calls, and publishers still waiting, get BusError `closed`; a
   * second close is harmless.
   */
  close(): Promise<void>;
}

/**
 * Header of a record whose stream (source and epoch) has lost records at its publisher: how many in all so
 * far, a decimal number. Cumulative, so that it survives the loss of a record that carried it. Absent
 * means 0. A gap in the sequences that is not covered by it was lost on the way.
 */
export const DROPPED_HEADER = "isochrone-dropped";
