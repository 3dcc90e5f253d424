// The part of ASN.1 DER (X.690) that certificates need.

export interface DerValue {
  readonly tag: number;
  /** Bytes of the value: tag, length and content. */
  readonly whole: Buffer;
  readonly content: Buffer;
}

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;
/** Marks a context-specific tag [n]. */
const CONTEXT = 0x80;
const CONSTRUCTED = 0x20;
/** Lengths from here on are written as a byte count and the bytes. */
const LONG_LENGTH = 0x80;
/** Last year of UTCTime (RFC 5280, 4.1.2.5). */
const LAST_SHORT_YEAR = 2049;

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

export function sequence(...parts: readonly Buffer[]): Buffer {
  return der(TAG.sequence, ...parts);
}

export function set(...parts: readonly Buffer[]): Buffer {
  return der(TAG.set, ...parts);
}

export function boolean(value: boolean): Buffer {
  return der(TAG.boolean, Buffer.from([value ? 0xff : 0]));
}

/** @param bytes positive, big endian; the first is below 0x80 */
export function integer(bytes: Buffer): Buffer {
  return der(TAG.integer, bytes);
}

/** @param unused bits of the last byte */
export function bitString(bytes: Buffer, unused = 0): Buffer {
  return der(TAG.bitString, Buffer.from([unused]), bytes);
}

export function octetString(...parts: readonly Buffer[]): Buffer {
  return der(TAG.octetString, ...parts);
}

export function utf8(text: string): Buffer {
  return der(TAG.utf8, Buffer.from(text));
}

/** @param dotted such as 2.5.29.15; the first two numbers are below 40 */
export function oid(dotted: string): Buffer {
  const [first, second, ...rest] = dotted.split(".").map(Number) as [number, number, ...number[]];
  return der(TAG.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

export function time(ms: number): Buffer {
  const date = new Date(ms);
  const digits = `${date.toISOString().replace(/[-:T]|\..*$/g, "")}Z`;
  return date.getUTCFullYear() <= LAST_SHORT_YEAR
    ? der(TAG.utcTime, Buffer.from(digits.slice(2)))
    : der(TAG.generalizedTime, Buffer.from(digits));
}

export function explicit(n: number, value: Buffer): Buffer {
  return der(CONTEXT | CONSTRUCTED | n, value);
}

export function implicit(n: number, content: Buffer): Buffer {
  return der(CONTEXT | n, content);
}

export function isExplicit({ tag }: DerValue, n: number): boolean {
  return tag === (CONTEXT | CONSTRUCTED | n);
}

export function valuesIn(bytes: Buffer): DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length;) {
    const tag = bytes.readUInt8(at);
    const first = bytes.readUInt8(at + 1);
    const count = first < LONG_LENGTH ? 0 : first - LONG_LENGTH;
    const length = count === 0 ? first : bytes.readUIntBE(at + 2, count);
    const begin = at + 2 + count;
    if (begin + length > bytes.length) throw new RangeError("a DER value is longer than what holds it");
    values.push({
      tag,
      whole: bytes.subarray(at, begin + length),
      content: bytes.subarray(begin, begin + length),
    });
    at = begin + length;
  }
  return values;
}

function lengthOf(length: number): Buffer {
  if (length < LONG_LENGTH) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([LONG_LENGTH | bytes.length, ...bytes]);
}

/** Encodes seven bits per byte; all bytes but the last have the eighth set. */
function base128(value: number): number[] {
  const bytes = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128))
    bytes.unshift(128 | (rest % 128));
  return bytes;
}
