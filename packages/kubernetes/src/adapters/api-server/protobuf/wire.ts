import { cachedText } from "./texts.ts";

export class MalformedError extends Error {}

export const VARINT = 0;
const FIXED64 = 1;
export const LENGTH = 2;
const FIXED32 = 5;

const LARGEST_TAG = 2 ** 31 - 1;
const TWO_TO_32 = 2 ** 32;

/** Reads protobuf primitives. Each read stays before `end`, or throws {@link MalformedError}. */
export class Wire {
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Returns the field number times 8 plus the wire type. */
  tag(end: number): number {
    const tag = this.int(end);
    if (tag < 8 || tag > LARGEST_TAG)
      throw new MalformedError(`byte ${this.at}: no field has the tag ${tag}`);
    return tag;
  }

  /** Reads a signed integer, rounded beyond 2^53 as JSON numbers are. */
  int(end: number): number {
    const first = this.#byte(end);
    return first < 0x80 ? first : this.#longInt(first & 0x7f, end);
  }

  endOfValue(end: number): number {
    const length = this.int(end);
    if (length < 0 || length > end - this.at) {
      const left = end - this.at;
      throw new MalformedError(`byte ${this.at}: a value of ${length} bytes where only ${left} are left`);
    }
    return this.at + length;
  }

  text(end: number): string {
    const valueEnd = this.endOfValue(end);
    const text = cachedText(this.#bytes, this.at, valueEnd);
    this.at = valueEnd;
    return text;
  }

  /** Skips a value. Returns whether it is empty: 0, false or no text. */
  skip(tag: number, end: number): boolean {
    const from = this.at;
    switch (tag & 7) {
      case VARINT:
        return this.int(end) === 0;
      case LENGTH:
        this.at = this.endOfValue(end);
        return this.at === from + 1;
      case FIXED64:
        return this.#skipFixed(8, end);
      case FIXED32:
        return this.#skipFixed(4, end);
      default:
        throw new MalformedError(`byte ${from}: unknown form ${tag & 7} of a value`);
    }
  }

  #skipFixed(bytes: number, end: number): boolean {
    if (end - this.at < bytes) throw new MalformedError(`byte ${this.at}: a number breaks off`);
    this.at += bytes;
    return false;
  }

  #byte(end: number): number {
    if (this.at >= end) throw new MalformedError(`byte ${this.at}: a value breaks off`);
    return this.#bytes[this.at++]!;
  }

  /** Reads a varint: seven bits per byte, lowest first. Negative numbers have 64 bits. */
  #longInt(lowest: number, end: number): number {
    let [low, high] = [lowest, 0];
    for (let shift = 7; shift < 70; shift += 7) {
      const byte = this.#byte(end);
      const bits = byte & 0x7f;
      if (shift < 32) low |= bits << shift;
      if (shift >= 32) high |= bits << (shift - 32);
      else if (shift === 28) high |= bits >>> 4;
      if (byte < 0x80) return high * TWO_TO_32 + (low >>> 0);
    }
    throw new MalformedError(`byte ${this.at}: a number of more than ten bytes`);
  }
}
