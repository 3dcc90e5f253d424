// Encodes record batches. The libraries' encoders allocate several buffers per record and copy the data at
// each concatenation, which loads the garbage collector.
import { promisify } from "node:util";
import { gzip, zstdCompressSync } from "node:zlib";

import { crc32c, lz4Compress } from "@platformatic/wasm-utils";

import type { KafkaRecord } from "./client.ts";
import type { ProducerId } from "./idempotent-producer.ts";
import type { KafkaCompression } from "./options.ts";

interface BatchHead {
  readonly producer: ProducerId;
  readonly sequence: number;
  /** Timestamp of all records, Unix milliseconds. */
  readonly timestampMs: number;
  readonly compression: KafkaCompression;
}

const HEADER_BYTES = 61;
const LENGTH_AT = 8;
const LENGTH_END = 12;
const LEADER_EPOCH_AT = 12;
const MAGIC_AT = 16;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const LAST_OFFSET_DELTA_AT = 23;
const BASE_TIMESTAMP_AT = 27;
const MAX_TIMESTAMP_AT = 35;
const PRODUCER_ID_AT = 43;
const PRODUCER_EPOCH_AT = 51;
const SEQUENCE_AT = 53;
const RECORD_COUNT_AT = 57;
const FORMAT = 2;

const CODECS = { none: 0, gzip: 1, lz4: 3, zstd: 4 } as const satisfies Record<KafkaCompression, number>;
/** Maximum bytes of a 32-bit zigzag varint. */
const MAX_VARINT_BYTES = 5;
/** Maximum UTF-8 bytes per UTF-16 code unit. */
const UTF8_BYTES = 3;
/** Larger buffers aren't reused. */
const MAX_SPARE_BYTES = 2 * 1024 * 1024;

const gzipped = promisify(gzip);

/** Encodes at least one record. */
export async function packBatch(records: readonly KafkaRecord[], head: BatchHead): Promise<Buffer> {
  const writer = new RecordsWriter(records.reduce((sum, record) => sum + mostBytes(record), 0));
  for (const [i, record] of records.entries()) writer.record(record, i);
  // Only gzip is slow enough to justify another thread and a copy. The writer's buffer is valid only until
  // the first await.
  const packed =
    head.compression === "gzip"
      ? await gzipped(Buffer.from(writer.finish()))
      : PACK_NOW[head.compression](writer.finish());
  const batch = Buffer.allocUnsafeSlow(HEADER_BYTES + packed.length);
  batch.set(packed, HEADER_BYTES);
  const timestamp = BigInt(head.timestampMs);
  batch.writeBigInt64BE(0n, 0);
  batch.writeInt32BE(batch.length - LENGTH_END, LENGTH_AT);
  batch.writeInt32BE(0, LEADER_EPOCH_AT);
  batch.writeInt8(FORMAT, MAGIC_AT);
  batch.writeInt16BE(CODECS[head.compression], ATTRIBUTES_AT);
  batch.writeInt32BE(records.length - 1, LAST_OFFSET_DELTA_AT);
  batch.writeBigInt64BE(timestamp, BASE_TIMESTAMP_AT);
  batch.writeBigInt64BE(timestamp, MAX_TIMESTAMP_AT);
  batch.writeBigInt64BE(head.producer.id, PRODUCER_ID_AT);
  batch.writeInt16BE(head.producer.epoch, PRODUCER_EPOCH_AT);
  batch.writeInt32BE(head.sequence, SEQUENCE_AT);
  batch.writeInt32BE(records.length, RECORD_COUNT_AT);
  batch.writeUInt32BE(crc32c(batch.subarray(ATTRIBUTES_AT)) >>> 0, CRC_AT);
  return batch;
}

const PACK_NOW: Readonly<Record<Exclude<KafkaCompression, "gzip">, (bytes: Buffer) => Uint8Array>> = {
  lz4: lz4Compress,
  zstd: (bytes) => zstdCompressSync(bytes),
  none: (bytes) => bytes,
};

function mostBytes({ key, value, headers }: KafkaRecord): number {
  let bytes = 1 + 7 * MAX_VARINT_BYTES + key.byteLength + (value?.byteLength ?? 0);
  for (const name in headers)
    bytes += 2 * MAX_VARINT_BYTES + UTF8_BYTES * (name.length + headers[name]!.length);
  return bytes;
}

let spare = Buffer.alloc(0);

class RecordsWriter {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: number) {
    if (bytes > spare.length) {
      const made = Buffer.allocUnsafeSlow(bytes);
      if (bytes <= MAX_SPARE_BYTES) spare = made;
      this.#bytes = made;
    } else this.#bytes = spare;
  }

  /** Returns the written bytes; the next writer overwrites them. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  record({ key, value, headers }: KafkaRecord, offsetDelta: number): void {
    const names = Object.keys(headers);
    // The length precedes the record and has variable size. Write the record at the usual distance, and move
    // it if needed.
    const start = this.#at;
    this.#at += 1;
    // Attributes and timestamp delta.
    this.#bytes[this.#at++] = 0;
    this.#bytes[this.#at++] = 0;
    this.#varInt(offsetDelta);
    this.#counted(key);
    if (value === null) this.#varInt(-1);
    else this.#counted(value);
    this.#varInt(names.length);
    for (const name of names) {
      this.#text(name);
      this.#text(headers[name]!);
    }
    this.#closeAt(start);
  }

  #closeAt(start: number): void {
    const end = this.#at;
    const length = end - start - 1;
    const more = varIntBytes(length) - 1;
    if (more > 0) this.#bytes.copyWithin(start + 1 + more, start + 1, end);
    this.#at = start;
    this.#varInt(length);
    this.#at = end + more;
  }

  #counted(bytes: Buffer): void {
    this.#varInt(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #text(text: string): void {
    const length = Buffer.byteLength(text, "utf8");
    this.#varInt(length);
    this.#bytes.write(text, this.#at, "utf8");
    this.#at += length;
  }

  /** Writes a zigzag varint from -1 to 2^30. */
  #varInt(value: number): void {
    let rest = value < 0 ? -2 * value - 1 : 2 * value;
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#at++] = rest;
  }
}

function varIntBytes(value: number): number {
  let bytes = 1;
  for (let rest = 2 * value; rest > 0x7f; rest >>>= 7) bytes++;
  return bytes;
}
