import type { BusRecord, OutgoingRecord } from "../../ports/port.ts";

/** Accounted bytes per record besides value and key. A round figure that also bounds empty values. */
const RECORD_OVERHEAD_BYTES = 128;

export interface Bounds {
  readonly records: number;
  readonly bytes: number;
}

interface Entry {
  readonly record: BusRecord;
  /** Bytes of all earlier records. Differences give the size of any range. */
  readonly bytesBefore: number;
}

/** Accounted memory of a record; headers and key at two bytes per character. */
export function sizeOf(record: OutgoingRecord): number {
  let characters = record.key.length;
  for (const [name, value] of Object.entries(record.headers)) characters += name.length + value.length;
  return RECORD_OVERHEAD_BYTES + 2 * characters + record.value.byteLength;
}

/**
 * The records of one partition in order. Offsets ascend without gaps from 0; the oldest are trimmed.
 *
 *     start                     floor (slowest reader)         end
 *       | retained, all done ...  | backlog, not yet handled    | next to be appended
 */
export class PartitionLog {
  readonly topic: string;
  readonly partition: number;
  readonly #retention: Bounds;
  readonly #listeners = new Set<() => void>();
  #entries: (Entry | undefined)[] = [];
  /** Index in #entries of the oldest record. Removed entries before it are compacted now and then. */
  #head = 0;
  #start = 0;
  #appendedBytes = 0;

  constructor(topic: string, partition: number, retention: Bounds) {
    this.topic = topic;
    this.partition = partition;
    this.#retention = retention;
  }

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#start + this.#entries.length - this.#head;
  }

  get bytes(): number {
    return this.bytesFrom(this.#start);
  }

  /** Copies the records, so that later changes of the bytes have no effect. */
  append(records: readonly OutgoingRecord[], appendedAtMs: number): void {
    for (const { key, value, headers } of records) {
      const record: BusRecord = Object.freeze({
        topic: this.topic,
        partition: this.partition,
        offset: this.end,
        appendedAtMs,
        key,
        value: value.slice(),
        headers: Object.freeze({ ...headers }),
      });
      this.#entries.push({ record, bytesBefore: this.#appendedBytes });
      this.#appendedBytes += sizeOf(record);
    }
    for (const listener of this.#listeners) listener();
  }

  /** Returns copies: at least one record if any exists, then as many as fit both bounds. */
  read(offset: number, bounds: Bounds): BusRecord[] {
    const from = this.#head + Math.max(offset, this.#start) - this.#start;
    const records: BusRecord[] = [];
    for (let i = from; i < this.#entries.length && records.length < bounds.records; i += 1) {
      const record = this.#entries[i]?.record;
      if (!record || (records.length > 0 && this.#bytesBetween(from, i + 1) > bounds.bytes)) break;
      records.push(Object.freeze({ ...record, value: record.value.slice() }));
    }
    return records;
  }

  /** Offset of the first record appended at `sinceMs` or later; the end if there is none. */
  offsetSince(sinceMs: number): number {
    let index = this.#head;
    while (index < this.#entries.length && this.#entries[index]!.record.appendedAtMs < sinceMs) index += 1;
    return this.#start + index - this.#head;
  }

  bytesFrom(offset: number): number {
    return this.#bytesBetween(this.#head + Math.max(offset, this.#start) - this.#start, this.#entries.length);
  }

  /** Drops the oldest records beyond the retention, but none from `floor` on. */
  trim(floor: number): void {
    while (this.#start < floor && this.#start < this.end && this.#exceedsRetention()) {
      this.#entries[this.#head] = undefined;
      this.#head += 1;
      this.#start += 1;
    }
    if (this.#head > 1024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Calls the listener after every append. Returns a function that unsubscribes. */
  onAppend(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #exceedsRetention(): boolean {
    return this.end - this.#start > this.#retention.records || this.bytes > this.#retention.bytes;
  }

  /** Bytes of #entries[from..to), both in the live part. */
  #bytesBetween(from: number, to: number): number {
    const first = this.#entries[from]?.bytesBefore ?? this.#appendedBytes;
    return (this.#entries[to]?.bytesBefore ?? this.#appendedBytes) - first;
  }
}
