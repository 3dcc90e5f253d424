// Encodes attributes directly from the bytes of a page, without decoding strings.

const FIRST_CAPACITY = 1_024;
const WIRE_BYTES = 2;
const MAX_VARINT_BYTES = 5;

const utf8 = new TextEncoder();

export interface AttributeKey {
  readonly encoded: Uint8Array;
}

export function attributeKey(name: string): AttributeKey {
  const bytes = utf8.encode(name);
  const lengths = varintOf(bytes.length);
  const encoded = new Uint8Array(1 + lengths.length + bytes.length);
  encoded[0] = (1 << 3) | WIRE_BYTES;
  encoded.set(lengths, 1);
  encoded.set(bytes, 1 + lengths.length);
  return { encoded };
}

export class AttributeBytes {
  bytes = new Uint8Array(FIRST_CAPACITY);
  view = new DataView(this.bytes.buffer);
  end = 0;
  #tag = 0;

  /** @param field number of the field `attributes`: 7 in NumberDataPoint, 9 in HistogramDataPoint */
  begin(field: number): void {
    this.#tag = field * 8 + WIRE_BYTES;
    this.end = 0;
  }

  add(key: AttributeKey, from: Uint8Array, start: number, end: number): void {
    const at = this.#openValue(key, end - start);
    const { bytes } = this;
    let to = at;
    for (let i = start; i < end; i++) bytes[to++] = from[i]!;
    this.end = to;
  }

  addText(key: AttributeKey, value: string): void {
    const encoded = utf8.encode(value);
    this.add(key, encoded, 0, encoded.length);
  }

  /** @returns where the value's bytes go */
  #openValue(key: AttributeKey, length: number): number {
    const { encoded } = key;
    const valueLength = 1 + varintLength(length) + length;
    const pairLength = encoded.length + 1 + varintLength(valueLength) + valueLength;
    this.#reserve(pairLength + 1 + MAX_VARINT_BYTES);
    const { bytes } = this;
    let at = this.end;
    bytes[at++] = this.#tag;
    at = writeVarint(bytes, at, pairLength);
    for (let i = 0; i < encoded.length; i++) bytes[at++] = encoded[i]!;
    bytes[at++] = (2 << 3) | WIRE_BYTES;
    at = writeVarint(bytes, at, valueLength);
    bytes[at++] = (1 << 3) | WIRE_BYTES;
    return writeVarint(bytes, at, length);
  }

  #reserve(more: number): void {
    const needed = this.end + more;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.end));
    this.bytes = grown;
    this.view = new DataView(grown.buffer);
  }
}

function varintLength(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  return value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
}

function writeVarint(bytes: Uint8Array, from: number, value: number): number {
  let at = from;
  let rest = value;
  while (rest > 0x7f) {
    bytes[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  bytes[at++] = rest;
  return at;
}

function varintOf(value: number): Uint8Array {
  const bytes = new Uint8Array(MAX_VARINT_BYTES);
  return bytes.subarray(0, writeVarint(bytes, 0, value));
}
