import { OtlpError } from "../errors.ts";

const WIRE_VARINT = 0;
const WIRE_FIXED64 = 1;
const WIRE_BYTES = 2;
const FIRST_CAPACITY = 4_096;
const TWO_32 = 4_294_967_296;
const NS_PER_MS = 1_000_000;
/** Latest time in fixed64 nanoseconds. */
const MAX_TIME_MS = 18_446_744_073_709;

const utf8 = new TextEncoder();

/** Writes protobuf into a growing buffer, with lengths in shortest form. */
export class WireWriter {
  #bytes = new Uint8Array(FIRST_CAPACITY);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#at);
  }

  get size(): number {
    return this.#at;
  }

  clear(): void {
    this.#at = 0;
  }

  raw(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    this.#bytes.set(end - start === bytes.length ? bytes : bytes.subarray(start, end), this.#at);
    this.#at += end - start;
  }

  /** Begins an embedded message. @returns the position for `end` */
  begin(field: number): number {
    this.#tag(field, WIRE_BYTES);
    this.#reserve(1);
    this.#at++;
    return this.#at;
  }

  /** Ends a message: writes its length, and moves the body if that takes more than a byte. */
  end(start: number): void {
    const length = this.#at - start;
    const extra = varintLength(length) - 1;
    if (extra > 0) {
      this.#reserve(extra);
      this.#bytes.copyWithin(start + extra, start, this.#at);
    }
    // No reserve here: a growing buffer keeps only what lies before #at.
    this.#at = start - 1;
    this.#putVarint(length);
    this.#at += length;
  }

  string(field: number, value: string): void {
    // A UTF-16 unit takes at most three bytes.
    this.#reserve(value.length * 3);
    const start = this.begin(field);
    this.#reserve(value.length * 3);
    let i = 0;
    for (; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      if (unit > 0x7f) break;
      this.#bytes[start + i] = unit;
    }
    this.#at = start + i;
    if (i < value.length) this.#at += utf8.encodeInto(value.slice(i), this.#bytes.subarray(this.#at)).written;
    this.end(start);
  }

  /** Writes a varint of 0 .. 2^53 - 1. */
  uint(field: number, value: number): void {
    this.#tag(field, WIRE_VARINT);
    this.#varint(checkedCount(value));
  }

  /** Writes an int64; ten bytes if negative. */
  int(field: number, value: number): void {
    this.#tag(field, WIRE_VARINT);
    if (value >= 0) return this.#varint(value);
    this.#reserve(10);
    let rest = BigInt.asUintN(64, BigInt(value));
    for (let i = 0; i < 9; i++) {
      this.#bytes[this.#at++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#at++] = Number(rest);
  }

  sint(field: number, value: number): void {
    this.#tag(field, WIRE_VARINT);
    this.#varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  packedUints(field: number, values: ArrayLike<number>): void {
    const start = this.begin(field);
    for (let i = 0; i < values.length; i++) this.#varint(checkedCount(values[i]!));
    this.end(start);
  }

  packedFixed64(field: number, values: ArrayLike<number>): void {
    const start = this.begin(field);
    for (let i = 0; i < values.length; i++) this.#fixed64(checkedCount(values[i]!));
    this.end(start);
  }

  packedDoubles(field: number, values: ArrayLike<number>): void {
    const start = this.begin(field);
    for (let i = 0; i < values.length; i++) this.#double(values[i]!);
    this.end(start);
  }

  double(field: number, value: number): void {
    this.#tag(field, WIRE_FIXED64);
    this.#double(value);
  }

  fixed64(field: number, value: number): void {
    this.#tag(field, WIRE_FIXED64);
    this.#fixed64(checkedCount(value));
  }

  sfixed64(field: number, value: number): void {
    if (!Number.isSafeInteger(value)) {
      throw new OtlpError("unencodable", `an integer value must be a safe integer, got ${value}`);
    }
    this.#tag(field, WIRE_FIXED64);
    this.#reserve(8);
    this.#view.setBigInt64(this.#at, BigInt(value), true);
    this.#at += 8;
  }

  /** Writes nanoseconds since the epoch, 0 .. 2^64 - 1; omits 0 (unknown). */
  nanoseconds(field: number, time: bigint): void {
    if (time === 0n) return;
    this.#tag(field, WIRE_FIXED64);
    this.#reserve(8);
    this.#view.setBigUint64(this.#at, time, true);
    this.#at += 8;
  }

  /** Writes milliseconds since the epoch as fixed64 nanoseconds; omits 0 (unknown). */
  time(field: number, timeMs: number): void {
    if (!(timeMs >= 0 && timeMs <= MAX_TIME_MS)) {
      throw new OtlpError(
        "unencodable",
        `a time must be 0 .. ${MAX_TIME_MS} ms since the epoch, got ${timeMs}`,
      );
    }
    if (timeMs === 0) return;
    // Nanoseconds exceed a double: splitting at 16 bits keeps every product exact.
    const wholeMs = Math.floor(timeMs);
    const high = Math.floor(wholeMs / 65_536) * NS_PER_MS;
    const low = (wholeMs % 65_536) * NS_PER_MS + Math.round((timeMs - wholeMs) * NS_PER_MS);
    const lowWords = (high % 65_536) * 65_536 + low;
    this.#tag(field, WIRE_FIXED64);
    this.#reserve(8);
    this.#view.setUint32(this.#at, lowWords % TWO_32, true);
    this.#view.setUint32(this.#at + 4, Math.floor(high / 65_536) + Math.floor(lowWords / TWO_32), true);
    this.#at += 8;
  }

  #double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  #fixed64(value: number): void {
    this.#reserve(8);
    this.#view.setUint32(this.#at, value % TWO_32, true);
    this.#view.setUint32(this.#at + 4, Math.floor(value / TWO_32), true);
    this.#at += 8;
  }

  #tag(field: number, wire: number): void {
    this.#varint(field * 8 + wire);
  }

  #varint(value: number): void {
    this.#reserve(10);
    this.#putVarint(value);
  }

  #putVarint(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#at++] = rest;
  }

  #reserve(more: number): void {
    const needed = this.#at + more;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) length++;
  return length;
}

function checkedCount(value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new OtlpError("unencodable", `a count must be an integer of 0 .. 2^53 - 1, got ${value}`);
}
