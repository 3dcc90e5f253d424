import type { ExponentialHistogramData } from "@isochrone/telemetry";

const SCALE = 6;
/** About 700 histograms of 40 buckets. They arrive and expire together, so a chunk is freed soon. */
const CHUNK_BYTES = 64 * 1024;
const DOUBLE_BYTES = 8;
const MAX_VARINT_BYTES = 8;
/** sum, min and max. */
const DOUBLES_BYTES = 3 * DOUBLE_BYTES;
/** count, zeroCount, offset and the number of buckets. */
const NUMBERS = 4;
const LOW_BITS = 0x7f;
const MORE = 0x80;

export class HistogramChunk {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  #used = 0;

  constructor(length: number) {
    this.bytes = new Uint8Array(length);
    this.#view = new DataView(this.bytes.buffer);
  }

  get room(): number {
    return this.bytes.length - this.#used;
  }

  /** @returns the offset; requires enough room */
  append(data: ExponentialHistogramData, first: number, last: number): number {
    const start = this.#used;
    this.#view.setFloat64(start, data.sum, true);
    this.#view.setFloat64(start + DOUBLE_BYTES, data.min, true);
    this.#view.setFloat64(start + 2 * DOUBLE_BYTES, data.max, true);
    let at = this.#put(start + DOUBLES_BYTES, data.count);
    at = this.#put(at, data.zeroCount);
    const offset = first > last ? 0 : data.offset + first;
    at = this.#put(at, offset < 0 ? -2 * offset - 1 : 2 * offset);
    at = this.#put(at, last - first + 1);
    const { bucketCounts } = data;
    for (let i = first; i <= last; i++) at = this.#put(at, bucketCounts[i]!);
    this.#used = at;
    return start;
  }

  min(at: number): number {
    return this.#view.getFloat64(at + DOUBLE_BYTES, true);
  }

  max(at: number): number {
    return this.#view.getFloat64(at + 2 * DOUBLE_BYTES, true);
  }

  read(at: number, into: HistogramReading): void {
    into.sum = this.#view.getFloat64(at, true);
    into.min = this.min(at);
    into.max = this.max(at);
    into.readNumbers(this.bytes, at + DOUBLES_BYTES);
  }

  #put(from: number, value: number): number {
    const { bytes } = this;
    let at = from;
    let rest = value;
    while (rest > LOW_BITS) {
      bytes[at++] = (rest % MORE) | MORE;
      rest = Math.floor(rest / MORE);
    }
    bytes[at++] = rest;
    return at;
  }
}

/** A histogram read from a chunk. The object is reused. */
export class HistogramReading implements ExponentialHistogramData {
  readonly scale = SCALE;
  sum = 0;
  min = 0;
  max = 0;
  count = 0;
  zeroCount = 0;
  offset = 0;
  readonly bucketCounts: number[] = [];
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;

  readNumbers(bytes: Uint8Array, at: number): void {
    this.#bytes = bytes;
    this.#at = at;
    this.count = this.#next();
    this.zeroCount = this.#next();
    const zigzag = this.#next();
    this.offset = zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    const { bucketCounts } = this;
    const buckets = this.#next();
    for (let i = 0; i < buckets; i++) bucketCounts[i] = this.#next();
    bucketCounts.length = buckets;
  }

  #next(): number {
    const bytes = this.#bytes;
    let byte = bytes[this.#at++]!;
    if (byte < MORE) return byte;
    let value = byte & LOW_BITS;
    for (let unit = MORE; byte >= MORE; unit *= MORE) {
      byte = bytes[this.#at++]!;
      value += (byte & LOW_BITS) * unit;
    }
    return value;
  }
}

let current = new HistogramChunk(0);

export function chunkFor(buckets: number): HistogramChunk {
  const needed = DOUBLES_BYTES + (NUMBERS + buckets) * MAX_VARINT_BYTES;
  if (current.room < needed) current = new HistogramChunk(Math.max(CHUNK_BYTES, needed));
  return current;
}
