// Transcodes OTLP/JSON (opentelemetry-proto, "JSON Protobuf Encoding") to protobuf. Ignores unknown fields
// and exemplars.
import { isList, isRecord } from "@isochrone/primitives";
import { OtlpError } from "../errors.ts";
import { WireWriter } from "./writer.ts";

type Scalar = "text" | "bool" | "uint" | "sint" | "int64" | "count" | "time" | "double" | "number" | "enum";
type Packed = "counts" | "uints" | "doubles";
/** Number and type of a field; messages by name. */
type Field = readonly [number: number, type: Scalar | Packed | { readonly message: string }];
type Message = Readonly<Record<string, Field>>;

const message = (name: string): { readonly message: string } => ({ message: name });
const POINT: Message = {
  attributes: [7, message("KeyValue")],
  startTimeUnixNano: [2, "time"],
  timeUnixNano: [3, "time"],
  flags: [8, "uint"],
};

const MESSAGES: Readonly<Record<string, Message>> = {
  Request: { resourceMetrics: [1, message("ResourceMetrics")] },
  ResourceMetrics: { resource: [1, message("Resource")], scopeMetrics: [2, message("ScopeMetrics")] },
  Resource: { attributes: [1, message("KeyValue")] },
  ScopeMetrics: { scope: [1, message("Scope")], metrics: [2, message("Metric")] },
  Scope: { name: [1, "text"], version: [2, "text"], attributes: [3, message("KeyValue")] },
  KeyValue: { key: [1, "text"], value: [2, message("AnyValue")] },
  AnyValue: {
    stringValue: [1, "text"],
    boolValue: [2, "bool"],
    intValue: [3, "int64"],
    doubleValue: [4, "double"],
    arrayValue: [5, message("ArrayValue")],
    kvlistValue: [6, message("KeyValueList")],
  },
  ArrayValue: { values: [1, message("AnyValue")] },
  KeyValueList: { values: [1, message("KeyValue")] },
  Metric: {
    name: [1, "text"],
    description: [2, "text"],
    unit: [3, "text"],
    gauge: [5, message("Gauge")],
    sum: [7, message("Sum")],
    histogram: [9, message("Histogram")],
    exponentialHistogram: [10, message("ExponentialHistogram")],
    summary: [11, message("Summary")],
  },
  Gauge: { dataPoints: [1, message("NumberPoint")] },
  Sum: {
    dataPoints: [1, message("NumberPoint")],
    aggregationTemporality: [2, "enum"],
    isMonotonic: [3, "bool"],
  },
  Histogram: { dataPoints: [1, message("HistogramPoint")], aggregationTemporality: [2, "enum"] },
  ExponentialHistogram: {
    dataPoints: [1, message("ExponentialPoint")],
    aggregationTemporality: [2, "enum"],
  },
  Summary: { dataPoints: [1, message("SummaryPoint")] },
  NumberPoint: { ...POINT, asDouble: [4, "double"], asInt: [6, "number"] },
  HistogramPoint: {
    ...POINT,
    attributes: [9, message("KeyValue")],
    count: [4, "count"],
    sum: [5, "double"],
    bucketCounts: [6, "counts"],
    explicitBounds: [7, "doubles"],
    flags: [10, "uint"],
    min: [11, "double"],
    max: [12, "double"],
  },
  ExponentialPoint: {
    ...POINT,
    attributes: [1, message("KeyValue")],
    count: [4, "count"],
    sum: [5, "double"],
    scale: [6, "sint"],
    zeroCount: [7, "count"],
    positive: [8, message("Buckets")],
    negative: [9, message("Buckets")],
    flags: [10, "uint"],
    min: [12, "double"],
    max: [13, "double"],
    zeroThreshold: [14, "double"],
  },
  Buckets: { offset: [1, "sint"], bucketCounts: [2, "uints"] },
  SummaryPoint: { ...POINT, count: [4, "count"], sum: [5, "double"] },
};

const MAX_DEPTH = 32;
const ENUM_VALUES: Readonly<Record<string, number>> = {
  AGGREGATION_TEMPORALITY_UNSPECIFIED: 0,
  AGGREGATION_TEMPORALITY_DELTA: 1,
  AGGREGATION_TEMPORALITY_CUMULATIVE: 2,
};
const AS_DOUBLE = 4;

/** @throws OtlpError `malformed` naming the place of an invalid value */
export function transcodeJson(bytes: Uint8Array): Uint8Array {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new OtlpError("malformed", "it is not JSON in UTF-8");
  }
  const writer = new WireWriter();
  writeMessage(writer, "Request", json, "", MAX_DEPTH);
  return writer.finish();
}

function writeMessage(writer: WireWriter, name: string, json: unknown, path: string, depth: number): void {
  if (!isRecord(json)) throw malformed(path || "the body", "must be an object", json);
  if (depth === 0) throw malformed(path, `must be nested at most ${MAX_DEPTH} deep`, "more");
  const fields = MESSAGES[name]!;
  for (const [key, value] of Object.entries(json)) {
    // Protobuf's JSON also allows the schema's names.
    const known = key.includes("_") ? key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) : key;
    if (value === null || !Object.hasOwn(fields, known)) continue;
    const [number, type] = fields[known]!;
    const place = path === "" ? known : `${path}.${known}`;
    if (typeof type !== "object") WRITERS[type](writer, number, value, place);
    else
      for (const [index, item] of (isList(value) ? value : [value]).entries()) {
        const start = writer.begin(number);
        writeMessage(writer, type.message, item, `${place}[${index}]`, depth - 1);
        writer.end(start);
      }
  }
}

type Write = (writer: WireWriter, number: number, value: unknown, place: string) => void;

const WRITERS: Readonly<Record<Scalar | Packed, Write>> = {
  text(writer, number, value, place) {
    if (typeof value !== "string") throw malformed(place, "must be text", value);
    writer.string(number, value);
  },
  bool(writer, number, value, place) {
    if (typeof value !== "boolean") throw malformed(place, "must be true or false", value);
    if (value) writer.uint(number, 1);
  },
  double: (writer, number, value, place) => writer.double(number, doubleOf(value, place)),
  doubles: (writer, number, value, place) => writer.packedDoubles(number, listOf(value, place, doubleOf)),
  time: (writer, number, value, place) => writer.nanoseconds(number, nanosecondsOf(value, place)),
  count: (writer, number, value, place) => writer.fixed64(number, countOf(value, place)),
  counts: (writer, number, value, place) => writer.packedFixed64(number, listOf(value, place, countOf)),
  uints: (writer, number, value, place) => writer.packedUints(number, listOf(value, place, countOf)),
  uint: (writer, number, value, place) => writer.uint(number, countOf(value, place)),
  enum: (writer, number, value, place) =>
    writer.uint(number, ENUM_VALUES[String(value)] ?? countOf(value, place)),
  sint: (writer, number, value, place) => writer.sint(number, smallOf(value, place)),
  int64: (writer, number, value, place) => writer.int(number, Number(integerOf(value, place))),
  number(writer, number, value, place) {
    // Beyond 2^53, doubles are as exact as a reader.
    const integer = Number(integerOf(value, place));
    if (Number.isSafeInteger(integer)) writer.sfixed64(number, integer);
    else writer.double(AS_DOUBLE, integer);
  },
};

function listOf<T>(value: unknown, place: string, read: (value: unknown, place: string) => T): T[] {
  if (!isList(value)) throw malformed(place, "must be a list", value);
  return value.map((item, index) => read(item, `${place}[${index}]`));
}

const SPECIAL: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

function doubleOf(value: unknown, place: string): number {
  if (typeof value === "number") return value;
  const special = typeof value === "string" && Object.hasOwn(SPECIAL, value) ? SPECIAL[value] : undefined;
  if (special !== undefined) return special;
  if (typeof value === "string" && /^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(value)) return Number(value);
  throw malformed(place, "must be a number", value);
}

/** JSON numbers can't hold 64 bits, so these are strings. */
function integerOf(value: unknown, place: string): bigint {
  if (typeof value === "number" && Number.isInteger(value)) return BigInt(value);
  if (typeof value === "string" && /^[+-]?\d{1,20}$/.test(value)) return BigInt(value);
  throw malformed(place, "must be an integer of 64 bits, as text or number", value);
}

function countOf(value: unknown, place: string): number {
  const count = Number(integerOf(value, place));
  if (Number.isSafeInteger(count) && count >= 0) return count;
  throw malformed(place, "must be a count of 0 .. 2^53 - 1", value);
}

function smallOf(value: unknown, place: string): number {
  const integer = Number(integerOf(value, place));
  if (Math.abs(integer) < 2 ** 31) return integer;
  throw malformed(place, "must be an integer of 32 bits", value);
}

function nanosecondsOf(value: unknown, place: string): bigint {
  const nanoseconds = integerOf(value, place);
  if (nanoseconds >= 0n && nanoseconds < 2n ** 64n) return nanoseconds;
  throw malformed(place, "must be a time in nanoseconds", value);
}

function malformed(place: string, rule: string, value: unknown): OtlpError {
  return new OtlpError(
    "malformed",
    `${place} ${rule}, got ${(JSON.stringify(value) ?? "nothing").slice(0, 80)}`,
  );
}
