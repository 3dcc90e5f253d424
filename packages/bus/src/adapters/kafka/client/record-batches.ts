// Decodes record batches. The libraries' readers have no size limit. They cannot skip an unreadable batch or
// an empty one (left by compaction), so either would block its partition for good.
import { crc32c } from "@platformatic/wasm-utils";

import type { FetchedRecord, PackedBatch } from "./client.ts";
import { unpack } from "./unpack.ts";

const BATCH_HEADER_BYTES = 61;
const LENGTH_END = 12;
const MAGIC_AT = 16;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const LAST_OFFSET_DELTA_AT = 23;
const BASE_TIMESTAMP_AT = 27;
const MAX_TIMESTAMP_AT = 35;
const PRODUCER_ID_AT = 43;
const RECORD_COUNT_AT = 57;
const CODEC_MASK = 7;
const LOG_APPEND_TIME = 8;
const TRANSACTIONAL = 16;
const CONTROL = 32;

export interface Aborted {
  readonly producerId: bigint;
  readonly firstOffset: number;
}

interface BatchesSplit {
  readonly batches: readonly PackedBatch[];
  /** Next offset after all complete batches, wanted or not; null: there was none. */
  readonly nextOffset: number | null;
}

/** Skips aborted transactions. Copies batches of a larger answer, to release its memory. */
export function splitBatches(answer: Buffer, from: number, aborted: readonly Aborted[]): BatchesSplit {
  const bytes = answer.length * 2 < answer.buffer.byteLength ? Buffer.from(answer) : answer;
  const batches: PackedBatch[] = [];
  const ended = new Set<Aborted>();
  let nextOffset: number | null = null;
  for (let at = 0; at + BATCH_HEADER_BYTES <= bytes.length;) {
    const end = at + LENGTH_END + bytes.readInt32BE(at + 8);
    // A full answer ends with an incomplete batch.
    if (end > bytes.length || end < at + BATCH_HEADER_BYTES) break;
    const batch = bytes.subarray(at, end);
    const base = Number(batch.readBigInt64BE(0));
    const to = base + batch.readInt32BE(LAST_OFFSET_DELTA_AT);
    const ofAborted = abortedOf(batch, to, aborted, ended);
    if (to >= from && ofAborted === undefined) batches.push({ from: Math.max(base, from), to, bytes: batch });
    if (ofAborted && isControl(batch)) ended.add(ofAborted);
    nextOffset = to + 1;
    at = end;
  }
  return { batches, nextOffset };
}

function abortedOf(
  batch: Buffer,
  last: number,
  aborted: readonly Aborted[],
  ended: ReadonlySet<Aborted>,
): Aborted | undefined {
  if (aborted.length === 0 || (batch.readInt16BE(ATTRIBUTES_AT) & TRANSACTIONAL) === 0) return undefined;
  const id = batch.readBigInt64BE(PRODUCER_ID_AT);
  return aborted.find((each) => each.producerId === id && each.firstOffset <= last && !ended.has(each));
}

function isControl(batch: Buffer): boolean {
  return (batch.readInt16BE(ATTRIBUTES_AT) & CONTROL) !== 0;
}

/** Returns none for control batches and after compaction. Throws for an unreadable batch. */
export function unpackBatch({ from, bytes: batch }: PackedBatch): FetchedRecord[] {
  if (batch[MAGIC_AT] !== 2) throw new RangeError(`batch format must be 2, got ${batch[MAGIC_AT]}`);
  if (crc32c(batch.subarray(ATTRIBUTES_AT)) >>> 0 !== batch.readUInt32BE(CRC_AT))
    throw new RangeError("the batch's checksum does not match its bytes");
  const attributes = batch.readInt16BE(ATTRIBUTES_AT);
  if ((attributes & CONTROL) !== 0) return [];
  const base = Number(batch.readBigInt64BE(0));
  const appendedAtMs = attributes & LOG_APPEND_TIME ? Number(batch.readBigInt64BE(MAX_TIMESTAMP_AT)) : null;
  const baseTimeMs = Number(batch.readBigInt64BE(BASE_TIMESTAMP_AT));
  const reader = new Reader(unpack(attributes & CODEC_MASK, batch.subarray(BATCH_HEADER_BYTES)));
  const found: FetchedRecord[] = [];
  for (let count = batch.readInt32BE(RECORD_COUNT_AT); count > 0; count -= 1) {
    reader.varInt();
    reader.skip(1);
    const timestampMs = appendedAtMs ?? baseTimeMs + reader.varInt();
    if (appendedAtMs !== null) reader.varInt();
    const offset = base + reader.varInt();
    const record = { key: reader.varBytes(), value: reader.varBytes(), headers: readHeaders(reader) };
    if (offset >= from) found.push({ offset, timestampMs, ...record });
  }
  return found;
}

/** The last header of a name wins. */
function readHeaders(reader: Reader): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let count = reader.varInt(); count > 0; count -= 1) {
    const name = reader.text(reader.varInt());
    headers[name] = reader.varBytes()?.toString("utf8") ?? "";
  }
  return headers;
}

export class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  skip(count: number): void {
    this.#at += count;
  }

  int16(): number {
    this.#at += 2;
    return this.#bytes.readInt16BE(this.#at - 2);
  }

  int32(): number {
    this.#at += 4;
    return this.#bytes.readInt32BE(this.#at - 4);
  }

  bigInt64(): bigint {
    this.#at += 8;
    return this.#bytes.readBigInt64BE(this.#at - 8);
  }

  int64(): number {
    return Number(this.bigInt64());
  }

  bytes(count: number): Buffer {
    const end = this.#at + count;
    if (count < 0 || end > this.#bytes.length) throw new RangeError("a length goes beyond the end");
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  text(count: number): string {
    return this.bytes(count).toString("utf8");
  }

  varBytes(): Buffer | null {
    const count = this.varInt();
    return count < 0 ? null : this.bytes(count);
  }

  /** Zigzag, up to 64 bits. Exact for all offsets and times within a double's safe integers. */
  varInt(): number {
    let value = 0;
    let unit = 1;
    for (let count = 0; count < 10; count += 1) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw new RangeError("a number goes beyond the end");
      this.#at += 1;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      unit *= 128;
    }
    throw new RangeError("a number has more than 64 bits");
  }
}
