import { OtlpError } from "../errors.ts";

const WIRE_VARINT = 0;
const WIRE_FIXED64 = 1;
export const WIRE_BYTES = 2;
const WIRE_GROUP_START = 3;
const WIRE_GROUP_END = 4;
const WIRE_FIXED32 = 5;

const MAX_GROUP_DEPTH = 16;
const MAX_VARINT_BYTES = 10;
const MAX_TAG = 0xffff_ffff;
const TWO_32 = 4_294_967_296;
const NS_PER_MS = 1_000_000;

/**
 * Cursor over protobuf bytes, bounded by `limit`, the end of the innermost message. Every method advances or
 * throws OtlpError `malformed`.
 */
export class WireReader {
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(this.bytes.buffer);
  pos = 0;
  limit = 0;
  tagStart = 0;

  reset(bytes: Uint8Array): void {
    if (this.bytes !== bytes) {
      this.bytes = bytes;
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    this.pos = 0;
    this.limit = bytes.length;
  }

  release(): void {
    this.reset(NOTHING);
  }

  fail(why: string): never {
    throw new OtlpError("malformed", `${why} at byte ${this.pos} of ${this.bytes.length}`);
  }

  tag(): number {
    this.tagStart = this.pos;
    const tag = this.uint();
    if (tag < 8 || tag > MAX_TAG) this.fail("field number out of range");
    return tag;
  }

  /** Reads a varint: exact up to 2^53, rounded beyond. */
  uint(): number {
    const { bytes, limit } = this;
    let pos = this.pos;
    if (pos >= limit) return this.fail("truncated varint");
    let byte = bytes[pos++]!;
    let value = byte & 0x7f;
    let factor = 128;
    for (let length = 1; byte > 0x7f; length++) {
      if (pos >= limit) return this.fail("truncated varint");
      byte = bytes[pos++]!;
      if (length === MAX_VARINT_BYTES - 1 && byte > 1) return this.fail("varint longer than 64 bits");
      value += (byte & 0x7f) * factor;
      factor *= 128;
    }
    this.pos = pos;
    return value;
  }

  /** Reads a signed 64-bit varint: exact within 2^53, rounded beyond. */
  int(): number {
    const start = this.pos;
    const value = this.uint();
    if (this.pos - start < MAX_VARINT_BYTES) return value;
    // With ten bytes, the last one is bit 63; small negative numbers need the exact complement.
    if (this.bytes[this.pos - 1] === 0) return value;
    let complement = 0;
    let factor = 1;
    for (let i = start; i < this.pos - 1; i++) {
      complement += (~this.bytes[i]! & 0x7f) * factor;
      factor *= 128;
    }
    return -complement - 1;
  }

  sint(): number {
    const value = this.uint();
    if (value > MAX_TAG) this.fail("sint32 out of range");
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  double(): number {
    const at = this.#take(8);
    return this.view.getFloat64(at, true);
  }

  fixed64(): number {
    const at = this.#take(8);
    return this.view.getUint32(at + 4, true) * TWO_32 + this.view.getUint32(at, true);
  }

  sfixed64(): number {
    const at = this.#take(8);
    const high = this.view.getInt32(at + 4, true);
    // Exact within 2^53: small negative numbers have all ones in the high word.
    return high * TWO_32 + this.view.getUint32(at, true);
  }

  /** Reads fixed64 nanoseconds as milliseconds, precise to 0.25 us. */
  time(): number {
    const at = this.#take(8);
    const high = this.view.getUint32(at + 4, true);
    // 2^32 ns = 4,294 ms + 967,296 ns keeps intermediates below 2^53.
    return high * 4_294 + (high * 967_296 + this.view.getUint32(at, true)) / NS_PER_MS;
  }

  /** Reads a length and returns the end of the bytes, without entering a message. */
  end(): number {
    const length = this.uint();
    const end = this.pos + length;
    if (end > this.limit) this.fail(`length ${length} beyond the end`);
    return end;
  }

  /** Enters an embedded message. @returns the limit for `leave` */
  enter(): number {
    const outer = this.limit;
    this.limit = this.end();
    return outer;
  }

  /** Leaves the message even if it was not read to its end. */
  leave(outer: number): void {
    this.pos = this.limit;
    this.limit = outer;
  }

  skip(tag: number, depth = 0): void {
    switch (tag % 8) {
      case WIRE_VARINT:
        this.uint();
        return;
      case WIRE_FIXED64:
        this.#take(8);
        return;
      case WIRE_BYTES:
        this.pos = this.end();
        return;
      case WIRE_FIXED32:
        this.#take(4);
        return;
      case WIRE_GROUP_START:
        this.#skipGroup(tag, depth);
        return;
      default:
        this.fail(`wire type ${tag % 8}`);
    }
  }

  /** Skips an unhandled field. @param known bit n is set if field n is known; its wire type is then wrong */
  skipUnknown(tag: number, known: number): void {
    const field = (tag - (tag % 8)) / 8;
    if (field < 32 && (known & (1 << field)) !== 0) this.fail(`field ${field} with wire type ${tag % 8}`);
    this.skip(tag);
  }

  #skipGroup(tag: number, depth: number): void {
    if (depth >= MAX_GROUP_DEPTH) this.fail("groups nested too deeply");
    const end = tag - WIRE_GROUP_START + WIRE_GROUP_END;
    for (let inner = this.tag(); inner !== end; inner = this.tag()) this.skip(inner, depth + 1);
  }

  #take(length: number): number {
    const at = this.pos;
    if (at + length > this.limit) this.fail("truncated field");
    this.pos = at + length;
    return at;
  }
}

const NOTHING = new Uint8Array(0);
