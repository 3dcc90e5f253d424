import type { MessageSpan } from "@isochrone/runtime/tracing";

/** Records of one topic and key: they share a partition, so whoever consumes one consumes all. */
export interface Stream {
  readonly source: string;
  nextSequence: number;
  /** Records of this stream that were given up. */
  dropped: number;
}

export interface QueuedRecord {
  readonly topic: string;
  readonly key: string;
  readonly value: Uint8Array;
  readonly stream: Stream;
  readonly sequence: number;
  /** Ascending over the queue's life. */
  readonly position: number;
  /** Monotonic. */
  readonly offeredMs: number;
  /** From here to the bus; null: nobody looks. */
  readonly span: MessageSpan | null;
}

/**
 * Why a record was given up: the buffer was full, the record waited too long, it alone is larger than the
 * buffer, the bus refused it for good, the publisher was closed.
 */
const DROP_REASONS = ["full", "expired", "too_large", "rejected", "closed"] as const;
export type DropReason = (typeof DROP_REASONS)[number];

/** What has become of all records so far: offered = sent + dropped + pending, at any time. */
export interface RecordCounts {
  readonly offered: number;
  readonly sent: number;
  readonly dropped: number;
  readonly pending: number;
}

interface SendQueueOptions {
  readonly maxRecords: number;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  /** Monotonic. */
  readonly nowMs: () => number;
  readonly onDropped: (reason: DropReason, count: number) => void;
}

interface Waiter {
  /** Everything before this position must have left. */
  readonly until: number;
  readonly left: PromiseWithResolvers<void>;
}

/** What a record costs beside its value. */
const RECORD_OVERHEAD_BYTES = 200;

/**
 * A bounded first-in first-out queue with the batch under way at its head.
 *
 *     0            #takenCount                #records.length
 *     | under way      | waiting, oldest first      |
 */
export class SendQueue {
  readonly #options: SendQueueOptions;
  #records: QueuedRecord[] = [];
  #takenCount = 0;
  #bytes = 0;
  #nextPosition = 0;
  #refusing = false;
  #offered = 0;
  #sent = 0;
  #dropped = 0;
  #waiters: Waiter[] = [];

  constructor(options: SendQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#records.length;
  }

  /** Values and 200 bytes per record. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Those that are not under way. */
  get waiting(): number {
    return this.#records.length - this.#takenCount;
  }

  get counts(): RecordCounts {
    return { offered: this.#offered, sent: this.#sent, dropped: this.#dropped, pending: this.size };
  }

  /** Of the oldest record, under way or not; 0 without any. */
  get oldestAgeMs(): number {
    return this.#ageMs(this.#records[0]);
  }

  /** Of the oldest record that is not under way; 0 without any. */
  get oldestWaitingAgeMs(): number {
    return this.#ageMs(this.#records[this.#takenCount]);
  }

  /** Time until the oldest waiting record has waited too long; Infinity without any. */
  get expiresInMs(): number {
    return this.waiting === 0 ? Infinity : this.#options.maxAgeMs - this.oldestWaitingAgeMs;
  }

  /**
   * Gives the record its sequence and queues it; what has no room any more is dropped, oldest first. False
   * when it is refused itself.
   */
  push(record: Omit<QueuedRecord, "sequence" | "position" | "offeredMs">): boolean {
    this.expire();
    const { stream } = record;
    const queued = {
      ...record,
      sequence: stream.nextSequence,
      position: this.#nextPosition,
      offeredMs: this.#options.nowMs(),
    };
    stream.nextSequence += 1;
    this.#nextPosition += 1;
    this.#offered += 1;
    if (this.#refusing) return this.#drop([queued], "closed");
    if (sizeOf(queued) > this.#options.maxBytes) return this.#drop([queued], "too_large");
    this.#records.push(queued);
    this.#bytes += sizeOf(queued);
    this.#makeRoom();
    return true;
  }

  /** Drops what has waited too long. Not what is under way: it may have arrived. */
  expire(): void {
    const oldestMs = this.#options.nowMs() - this.#options.maxAgeMs;
    let count = 0;
    while ((this.#records[this.#takenCount + count]?.offeredMs ?? Infinity) <= oldestMs) count += 1;
    if (count > 0) this.#drop(this.#shift(this.#takenCount, count), "expired");
  }

  /**
   * The oldest waiting records of one topic are under way until `taken` says what became of them; those under
   * way already come again.
   */
  take(bounds: { readonly records: number; readonly bytes: number }): readonly QueuedRecord[] {
    if (this.#takenCount > 0) return this.#records.slice(0, this.#takenCount);
    const topic = this.#records[0]?.topic;
    let bytes = 0;
    for (const record of this.#records) {
      bytes += sizeOf(record);
      const full = this.#takenCount > 0 && (this.#takenCount >= bounds.records || bytes > bounds.bytes);
      if (full || record.topic !== topic) break;
      this.#takenCount += 1;
    }
    return this.#records.slice(0, this.#takenCount);
  }

  /** Ends the way of the records under way. */
  taken(outcome: "sent" | "rejected"): void {
    const records = this.#shift(0, this.#takenCount);
    this.#takenCount = 0;
    if (outcome === "rejected") {
      this.#drop(records, outcome);
      return;
    }
    this.#sent += records.length;
    for (const { span } of records) span?.end();
  }

  /** What is under way waits again, at the head; returns how many these are. */
  putBack(): number {
    const count = this.#takenCount;
    this.#takenCount = 0;
    return count;
  }

  /** From here on every push is dropped. */
  refuseMore(): void {
    this.#refusing = true;
  }

  dropAll(reason: DropReason): void {
    this.#takenCount = 0;
    this.#drop(this.#shift(0, this.#records.length), reason);
  }

  /** Resolves when everything queued by now has left. */
  async settled(signal?: AbortSignal): Promise<void> {
    if (this.#records.length === 0) return;
    const waiter: Waiter = { until: this.#nextPosition, left: Promise.withResolvers() };
    const onAbort = (): void => {
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
      waiter.left.reject(signal?.reason);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#waiters.push(waiter);
    await waiter.left.promise.finally(() => signal?.removeEventListener("abort", onAbort));
  }

  /** Never drops what is under way: it may have arrived already. */
  #makeRoom(): void {
    const { maxRecords, maxBytes } = this.#options;
    let count = 0;
    let bytes = this.#bytes;
    while (this.#records.length - count > maxRecords || bytes > maxBytes) {
      const oldest = this.#records[this.#takenCount + count];
      if (!oldest) break;
      bytes -= sizeOf(oldest);
      count += 1;
    }
    if (count > 0) this.#drop(this.#shift(this.#takenCount, count), "full");
  }

  #ageMs(record: QueuedRecord | undefined): number {
    return record === undefined ? 0 : this.#options.nowMs() - record.offeredMs;
  }

  #shift(at: number, count: number): QueuedRecord[] {
    const gone = this.#records.splice(at, count);
    for (const record of gone) this.#bytes -= sizeOf(record);
    const oldest = this.#records[0]?.position ?? this.#nextPosition;
    const left = this.#waiters.filter(({ until }) => until <= oldest);
    this.#waiters = this.#waiters.filter(({ until }) => until > oldest);
    for (const waiter of left) waiter.left.resolve();
    return gone;
  }

  #drop(records: readonly QueuedRecord[], reason: DropReason): false {
    this.#dropped += records.length;
    for (const { stream, span } of records) {
      stream.dropped += 1;
      span?.end(`dropped: ${reason}`);
    }
    if (records.length > 0) this.#options.onDropped(reason, records.length);
    return false;
  }
}

/** What a record counts for in the bounds of the buffer and of the catch-up. */
export function sizeOf(record: Pick<QueuedRecord, "value">): number {
  return record.value.byteLength + RECORD_OVERHEAD_BYTES;
}
