// The bus as Isochrone needs it: keyed records in partitioned topics, consumer groups, manual commit, at-least-once.

export interface OutgoingRecord {
  /** Records with one key of one topic arrive in the order of their publishing. */
  readonly key: string;
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

/** Records of one partition, in order, never empty. */
export interface Batch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly BusRecord[];
  /** Says that everything before `nextOffset` is done (default: the whole batch). After a crash, delivery goes on from the last commit. */
  commit(nextOffset?: number): Promise<void>;
}

export interface SubscribeOptions {
  readonly topics: readonly string[];
  /** Members of one group share the partitions; different groups each get everything. */
  readonly group: string;
  /** Where a group without a commit begins. */
  readonly from: "earliest" | "latest";
  /** @default 500 */
  readonly maxBatchRecords?: number;
  /** Awaited: the next batch of the same partition comes only after it settles (back-pressure). A throw redelivers the batch after a pause. */
  onBatch(batch: Batch): Promise<void>;
  /** Partitions that this member got or lost; `revoked` is awaited before another member gets them. */
  onAssigned?(partitions: readonly TopicPartition[]): Promise<void>;
  onRevoked?(partitions: readonly TopicPartition[]): Promise<void>;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export interface Subscription {
  /** Stops delivery; resolves when the running handler has settled and the partitions are handed over. */
  close(): Promise<void>;
}

export interface Publisher {
  /** Resolves when the bus has taken responsibility for all records; rejects with a BusError (`retryable` says whether to try again). */
  publish(topic: string, records: readonly OutgoingRecord[], options?: { readonly signal?: AbortSignal }): Promise<void>;
}

export interface Bus extends Publisher {
  subscribe(options: SubscribeOptions): Promise<Subscription>;
  close(): Promise<void>;
}
