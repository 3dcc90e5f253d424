import type { MessageSpan } from "@isochrone/runtime/tracing";

/** Records with one topic and key. They share a partition, so a consumer gets all of them. */
export interface Stream {
  readonly source: string;
  nextSequence: number;
  dropped: number;
}

export interface QueuedRecord {
  readonly topic: string;
  readonly key: string;
  readonly value: Uint8Array;
  readonly stream: Stream;
  readonly sequence: number;
  /** Ascending during the queue's lifetime. */
  readonly position: number;
  readonly offeredMs: number;
  /** Span from here to the bus; null: no tracing. */
  readonly span: MessageSpan | null;
}

/** Reasons: buffer full, record too old, larger than the buffer, refused by the bus, publisher closed. */
const DROP_REASONS = ["full", "expired", "too_large", "rejected", "closed"] as const;
export type DropReason = (typeof DROP_REASONS)[number];

/** Counts by outcome. Invariant: offered = sent + dropped + pending. */
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
  readonly nowMs: () => number;
  readonly onDropped: (reason: DropReason, count: number) => void;
}

interface Waiter {
  /** All records before this position must have left. */
  readonly until: number;
  readonly left: PromiseWithResolvers<void>;
}

/** Accounted bytes per record besides the value. */
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

  /** Values plus 200 bytes per record. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Records that aren't in flight. */
  get waiting(): number {
    return this.#records.length - this.#takenCount;
  }

  get counts(): RecordCounts {
    return { offered: this.#offered, sent: this.#sent, dropped: this.#dropped, pending: this.size };
  }

  /** Age of the oldest record, in flight or not; 0 without any. */
  get oldestAgeMs(): number {
    return this.#ageMs(this.#records[0]);
  }

  /** Age of the oldest record that isn't in flight; 0 without any. */
  get oldestWaitingAgeMs(): number {
    return this.#ageMs(this.#records[this.#takenCount]);
  }

  /** Milliseconds until the oldest waiting record expires; Infinity without any. */
  get expiresInMs(): number {
    return this.waiting === 0 ? Infinity : this.#options.maxAgeMs - this.oldestWaitingAgeMs;
  }

  /** Queues the record. Drops the oldest ones if room is lacking. Returns false if it refuses the record. */
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

  /** Drops expired records, except those in flight, which may have arrived. */
  expire(): void {
    const oldestMs = this.#options.nowMs() - this.#options.maxAgeMs;
    let count = 0;
    while ((this.#records[this.#takenCount + count]?.offeredMs ?? Infinity) <= oldestMs) count += 1;
    if (count > 0) this.#drop(this.#shift(this.#takenCount, count), "expired");
  }

  /** Puts the oldest records of one topic in flight, until `taken`. Repeats those already in flight. */
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

  /** Returns the batch in flight to the head of the queue; returns its size. */
  putBack(): number {
    const count = this.#takenCount;
    this.#takenCount = 0;
    return count;
  }

  refuseMore(): void {
    this.#refusing = true;
  }

  dropAll(reason: DropReason): void {
    this.#takenCount = 0;
    this.#drop(this.#shift(0, this.#records.length), reason);
  }

  /** Resolves when all records queued by now have left. */
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

  /** Never drops records in flight, since they may have arrived. */
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

export function sizeOf(record: Pick<QueuedRecord, "value">): number {
  return record.value.byteLength + RECORD_OVERHEAD_BYTES;
}
