// Encodes the small protobuf messages of OTLP/HTTP, and reads fields of requests without full decoding.

/** Partially accepted request (ExportMetricsPartialSuccess). */
export interface PartialSuccess {
  readonly rejectedDataPoints: number;
  readonly message: string;
}

interface Field {
  readonly number: number;
  readonly wireType: number;
  readonly data: Uint8Array;
  /** Includes tag and length, so that concatenated pieces form a message. */
  readonly raw: Uint8Array;
}

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED32 = 5;

/** Remaining number of fields to visit. A field needs two bytes, so small messages can hold millions. */
export interface FieldAllowance {
  left: number;
}

/** Iterates over one level. Throws RangeError for invalid protobuf and an exhausted allowance. */
export function* fieldsOf(message: Uint8Array, allowance?: FieldAllowance): Generator<Field> {
  const cursor = { at: 0 };
  while (cursor.at < message.length) {
    if (allowance !== undefined && --allowance.left < 0) throw new RangeError("too many fields");
    const start = cursor.at;
    const tag = readVarint(message, cursor);
    const wireType = tag % 8;
    const number = Math.floor(tag / 8);
    if (number === 0) throw new RangeError("field number 0");
    const length = lengthOf(wireType, message, cursor);
    const end = cursor.at + length;
    if (end > message.length)
      throw new RangeError(`field ${number} ends ${end - message.length} bytes after the message`);
    const data =
      wireType === LENGTH_DELIMITED ? message.subarray(cursor.at, end) : message.subarray(end, end);
    cursor.at = end;
    yield { number, wireType, data, raw: message.subarray(start, end) };
  }
}

export function fieldOf(
  message: Uint8Array,
  number: number,
  allowance?: FieldAllowance,
): Uint8Array | undefined {
  for (const field of fieldsOf(message, allowance)) {
    if (field.number === number && field.wireType === LENGTH_DELIMITED) return field.data;
  }
  return undefined;
}

/** ExportMetricsServiceResponse; empty if all was accepted. */
export function encodeExportResponse(partial?: PartialSuccess): Uint8Array {
  if (!partial) return new Uint8Array(0);
  const message = Buffer.from(partial.message, "utf8");
  const inner = Buffer.concat([
    ...(partial.rejectedDataPoints > 0 ? [Buffer.of(1 << 3), varint(partial.rejectedDataPoints)] : []),
    ...(message.length > 0 ? [lengthDelimited(2, message)] : []),
  ]);
  return lengthDelimited(1, inner);
}

/** Decodes an ExportMetricsServiceResponse; null if all was accepted. */
export function decodeExportResponse(bytes: Uint8Array): PartialSuccess | null {
  const inner = fieldOf(bytes, 1);
  if (inner === undefined) return null;
  let rejectedDataPoints = 0;
  for (const field of fieldsOf(inner)) {
    if (field.number === 1 && field.wireType === VARINT)
      rejectedDataPoints = readVarint(field.raw, { at: 1 });
  }
  return { rejectedDataPoints, message: Buffer.from(fieldOf(inner, 2) ?? []).toString("utf8") };
}

/** google.rpc.Status, the error body of OTLP/HTTP. */
export function encodeStatus(code: number, message: string): Uint8Array {
  return Buffer.concat([Buffer.of(1 << 3), varint(code), lengthDelimited(2, Buffer.from(message, "utf8"))]);
}

/** Message of a google.rpc.Status; "" if the data is none. */
export function statusMessageOf(bytes: Uint8Array): string {
  try {
    return Buffer.from(fieldOf(bytes, 2) ?? []).toString("utf8");
  } catch {
    return "";
  }
}

function lengthOf(wireType: number, message: Uint8Array, cursor: { at: number }): number {
  if (wireType === FIXED64) return 8;
  if (wireType === FIXED32) return 4;
  if (wireType === LENGTH_DELIMITED) return readVarint(message, cursor);
  if (wireType !== VARINT) throw new RangeError(`wire type ${wireType}`);
  const start = cursor.at;
  while ((message[cursor.at] ?? 0) >= 0x80) cursor.at += 1;
  const length = cursor.at + 1 - start;
  if (length > 10) throw new RangeError("varint longer than 10 bytes");
  cursor.at = start;
  return length;
}

/** Reads up to 2^53 - 1, more than any valid tag, length or count. */
function readVarint(message: Uint8Array, cursor: { at: number }): number {
  let value = 0;
  for (let shift = 0; shift < 56; shift += 7) {
    const byte = message[cursor.at];
    if (byte === undefined) throw new RangeError("message ends within a number");
    cursor.at += 1;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) {
      if (Number.isSafeInteger(value)) return value;
      break;
    }
  }
  throw new RangeError("number too large");
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = Math.floor(value);
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Buffer.from([...bytes, rest]);
}

function lengthDelimited(number: number, data: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of((number << 3) | LENGTH_DELIMITED), varint(data.length), data]);
}
