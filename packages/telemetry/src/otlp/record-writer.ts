import { TEMPORALITY_CODES, beginMetric, beginScope, endScope, writeExponentialData } from "./encode.ts";
import type { EncodedAttributes, OpenScope } from "./encode.ts";
import type { Attributes, ExponentialHistogramData, Temporality } from "./model.ts";
import { WireWriter } from "./writer.ts";

export interface MetricShape {
  readonly name: string;
  readonly unit?: string;
  readonly kind: "gauge" | "sum" | "histogram" | "exponentialHistogram";
  readonly temporality?: Temporality;
  /** Whether sums are monotonic. @default true */
  readonly monotonic?: boolean;
}

export const ATTRIBUTE_FIELDS = { gauge: 7, sum: 7, histogram: 9, exponentialHistogram: 1 } as const;

const DATA_FIELDS = { gauge: 5, sum: 7, histogram: 9, exponentialHistogram: 10 } as const;
const NO_BUCKETS: readonly number[] = [];

/**
 * Writes ExportMetricsServiceRequests point by point, for tens of thousands of points. Bytes equal those of
 * encodeMetrics.
 */
export class RecordWriter {
  readonly #writer = new WireWriter();
  #head: { readonly resource: Attributes; readonly scope: { readonly name: string } };
  #scope: OpenScope | null = null;
  #shape: MetricShape | null = null;
  #metricStart = 0;
  #dataStart = 0;
  #points = 0;

  constructor(resource: Attributes, scope: { readonly name: string }) {
    this.#head = { resource, scope };
  }

  get points(): number {
    return this.#points;
  }

  get size(): number {
    return this.#writer.size;
  }

  setResource(resource: Attributes): void {
    this.#endScope();
    this.#head = { resource, scope: this.#head.scope };
  }

  beginMetric(shape: MetricShape): void {
    this.#scope ??= beginScope(this.#writer, this.#head);
    this.#shape = shape;
    this.#metricStart = beginMetric(this.#writer, shape);
    this.#dataStart = this.#writer.begin(DATA_FIELDS[shape.kind]);
  }

  endMetric(): void {
    const { kind, temporality = "cumulative", monotonic = true } = this.#shape!;
    if (kind !== "gauge") this.#writer.uint(2, TEMPORALITY_CODES[temporality]);
    if (kind === "sum" && monotonic) this.#writer.uint(3, 1);
    this.#writer.end(this.#dataStart);
    this.#writer.end(this.#metricStart);
    this.#shape = null;
  }

  /** @param more additional attributes @throws OtlpError `unencodable` for times out of fixed64 */
  number(
    startMs: number,
    timeMs: number,
    value: number,
    attributes: EncodedAttributes,
    more?: EncodedAttributes,
  ): void {
    const writer = this.#writer;
    const start = writer.begin(1);
    writer.time(2, startMs);
    writer.time(3, timeMs);
    writer.double(4, value);
    writer.raw(attributes.bytes, attributes.start, attributes.end);
    if (more !== undefined) writer.raw(more.bytes, more.start, more.end);
    writer.end(start);
    this.#points++;
  }

  /** Writes a histogram; without bounds, count and sum only. @throws OtlpError `unencodable` */
  histogram(
    startMs: number,
    timeMs: number,
    data: {
      readonly count: number;
      readonly sum: number;
      readonly explicitBounds?: readonly number[];
      readonly bucketCounts?: readonly number[];
    },
    attributes: EncodedAttributes,
  ): void {
    const writer = this.#writer;
    const { count, sum, explicitBounds = NO_BUCKETS, bucketCounts = NO_BUCKETS } = data;
    const start = writer.begin(1);
    writer.time(2, startMs);
    writer.time(3, timeMs);
    if (count !== 0) writer.fixed64(4, count);
    writer.double(5, sum);
    if (bucketCounts.length > 0) writer.packedFixed64(6, bucketCounts);
    if (explicitBounds.length > 0) writer.packedDoubles(7, explicitBounds);
    writer.raw(attributes.bytes, attributes.start, attributes.end);
    writer.end(start);
    this.#points++;
  }

  /** @throws OtlpError `unencodable` for counts that aren't safe integers, and times out of fixed64 */
  exponentialHistogram(
    startMs: number,
    timeMs: number,
    data: ExponentialHistogramData,
    attributes: EncodedAttributes,
  ): void {
    const writer = this.#writer;
    const start = writer.begin(1);
    writer.raw(attributes.bytes, attributes.start, attributes.end);
    writeExponentialData(writer, startMs, timeMs, data);
    writer.end(start);
    this.#points++;
  }

  /** Returns a copy and empties the writer. Null: no metric was begun. */
  finish(): Uint8Array | null {
    this.#endScope();
    if (this.#writer.size === 0) return null;
    const bytes = this.#writer.finish();
    this.#writer.clear();
    this.#points = 0;
    return bytes;
  }

  #endScope(): void {
    if (this.#scope !== null) endScope(this.#writer, this.#scope);
    this.#scope = null;
  }
}
