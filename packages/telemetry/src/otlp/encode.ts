import type {
  AttributeValue,
  Attributes,
  ExponentialHistogramData,
  ExponentialHistogramPoint,
  HistogramPoint,
  Metric,
  MetricsBatch,
  NumberPoint,
  Temporality,
} from "./model.ts";
import { WireWriter } from "./writer.ts";

// Field numbers of opentelemetry-proto 1.x. Ascending fields without defaults, as in the reference encoders,
// so equal batches give equal bytes.

export const TEMPORALITY_CODES: Readonly<Record<Temporality, number>> = { delta: 1, cumulative: 2 };

/** @throws OtlpError `unencodable` for unsafe counts and integers, and times out of fixed64 */
export function encodeMetrics(batch: MetricsBatch): Uint8Array {
  const writer = spare ?? new WireWriter();
  spare = null;
  writer.clear();
  const open = beginScope(writer, batch);
  for (const metric of batch.metrics) writeMetric(writer, metric);
  endScope(writer, open);
  const bytes = writer.finish();
  if (bytes.length <= MAX_SPARE_BYTES) spare = writer;
  return bytes;
}

/** Writer with a grown buffer for reuse. Null while in use, and after an oversized batch. */
let spare: WireWriter | null = null;
const MAX_SPARE_BYTES = 1024 * 1024;

export interface EncodedAttributes {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

export interface OpenScope {
  readonly resourceMetrics: number;
  readonly scopeMetrics: number;
}

export function beginScope(writer: WireWriter, head: Pick<MetricsBatch, "resource" | "scope">): OpenScope {
  const resourceMetrics = writer.begin(1);
  const resource = writer.begin(1);
  writeAttributes(writer, 1, head.resource);
  writer.end(resource);
  const scopeMetrics = writer.begin(2);
  const scope = writer.begin(1);
  writeText(writer, 1, head.scope.name);
  writeText(writer, 2, head.scope.version);
  writer.end(scope);
  return { resourceMetrics, scopeMetrics };
}

export function endScope(writer: WireWriter, open: OpenScope): void {
  writer.end(open.scopeMetrics);
  writer.end(open.resourceMetrics);
}

export function beginMetric(writer: WireWriter, head: Pick<Metric, "name" | "unit" | "description">): number {
  const start = writer.begin(2);
  writeText(writer, 1, head.name);
  writeText(writer, 2, head.description);
  writeText(writer, 3, head.unit);
  return start;
}

function writeMetric(writer: WireWriter, metric: Metric): void {
  const start = beginMetric(writer, metric);
  writeData(writer, metric);
  writer.end(start);
}

function writeData(writer: WireWriter, metric: Metric): void {
  let start: number;
  switch (metric.kind) {
    case "gauge":
      start = writer.begin(5);
      for (const point of metric.points) writeNumber(writer, point);
      break;
    case "sum":
      start = writer.begin(7);
      for (const point of metric.points) writeNumber(writer, point);
      writer.uint(2, TEMPORALITY_CODES[metric.temporality]);
      if (metric.monotonic) writer.uint(3, 1);
      break;
    case "histogram":
      start = writer.begin(9);
      for (const point of metric.points) writeHistogram(writer, point);
      writer.uint(2, TEMPORALITY_CODES[metric.temporality]);
      break;
    case "exponentialHistogram":
      start = writer.begin(10);
      for (const point of metric.points) writeExponentialHistogram(writer, point);
      writer.uint(2, TEMPORALITY_CODES[metric.temporality]);
      break;
  }
  writer.end(start);
}

function writeNumber(writer: WireWriter, point: NumberPoint): void {
  const start = writer.begin(1);
  writer.time(2, point.startMs ?? 0);
  writer.time(3, point.timeMs);
  if (point.integer === true) writer.sfixed64(6, point.value);
  else writer.double(4, point.value);
  writeAttributes(writer, 7, point.attributes);
  writer.end(start);
}

function writeHistogram(writer: WireWriter, point: HistogramPoint): void {
  const start = writer.begin(1);
  writer.time(2, point.startMs ?? 0);
  writer.time(3, point.timeMs);
  if (point.count !== 0) writer.fixed64(4, point.count);
  writer.double(5, point.sum);
  if (point.bucketCounts.length > 0) writer.packedFixed64(6, point.bucketCounts);
  if (point.explicitBounds.length > 0) writer.packedDoubles(7, point.explicitBounds);
  writeAttributes(writer, 9, point.attributes);
  writer.end(start);
}

function writeExponentialHistogram(writer: WireWriter, point: ExponentialHistogramPoint): void {
  const start = writer.begin(1);
  writeAttributes(writer, 1, point.attributes);
  writeExponentialData(writer, point.startMs ?? 0, point.timeMs, point.data);
  writer.end(start);
}

export function writeExponentialData(
  writer: WireWriter,
  startMs: number,
  timeMs: number,
  data: ExponentialHistogramData,
): void {
  writer.time(2, startMs);
  writer.time(3, timeMs);
  if (data.count !== 0) writer.fixed64(4, data.count);
  writer.double(5, data.sum);
  if (data.scale !== 0) writer.sint(6, data.scale);
  if (data.zeroCount !== 0) writer.fixed64(7, data.zeroCount);
  const positive = writer.begin(8);
  if (data.offset !== 0) writer.sint(1, data.offset);
  if (data.bucketCounts.length > 0) writer.packedUints(2, data.bucketCounts);
  writer.end(positive);
  writer.double(12, data.min);
  writer.double(13, data.max);
}

/** Encodes attributes for repeated use, sorted by bytes, which readers match fastest. */
export function encodeAttributes(field: number, attributes: Attributes): EncodedAttributes {
  const writer = spare ?? new WireWriter();
  const pairs = Object.keys(attributes).map((key) => {
    writer.clear();
    writeAttributes(writer, field, { [key]: attributes[key]! });
    return writer.finish();
  });
  spare = writer;
  const bytes = Buffer.concat(pairs.sort((a, b) => Buffer.compare(a, b)));
  return { bytes, start: 0, end: bytes.length };
}

function writeAttributes(writer: WireWriter, field: number, attributes: Attributes): void {
  for (const key of Object.keys(attributes)) {
    const pair = writer.begin(field);
    writeText(writer, 1, key);
    const value = writer.begin(2);
    writeValue(writer, attributes[key]!);
    writer.end(value);
    writer.end(pair);
  }
}

/** Oneof members are written even with the default value. */
function writeValue(writer: WireWriter, value: AttributeValue): void {
  if (typeof value === "string") writer.string(1, value);
  else if (typeof value === "boolean") writer.uint(2, value ? 1 : 0);
  else if (Number.isSafeInteger(value)) writer.int(3, value);
  else writer.double(4, value);
}

function writeText(writer: WireWriter, field: number, text: string | undefined): void {
  if (text !== undefined && text !== "") writer.string(field, text);
}
