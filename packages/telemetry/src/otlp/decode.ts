import { OtlpError } from "../errors.ts";
import type { KeyRange } from "./byte-hash.ts";
import { DECODER_DEFAULTS } from "./decode-options.ts";
import type { DecoderDefaults, MetricsDecoderOptions } from "./decode-options.ts";
import { DATA_KINDS, findParts, MAX_PIECES, readDataHead } from "./metric-parts.ts";
import type { MetricParts } from "./metric-parts.ts";
import type { MetricKind, MetricsVisitor, Refusal, Series, Temporality } from "./model.ts";
import { ExponentialPointReader, HistogramPointReader, NumberPointReader } from "./points.ts";
import type { AttributeSpan } from "./points.ts";
import { WIRE_BYTES, WireReader } from "./reader.ts";
import { Scratch } from "./scratch.ts";
import { SeriesCache } from "./series-cache.ts";
import type { DecodeScope, MetricHead, SoughtHead, SoughtResource } from "./series-cache.ts";
import { sumRangeOf, valueRangeOf } from "../value-ranges.ts";

const MAX_HEADS = 16_384;
const BYTES_PER_SERIES = 256;
const MIN_SERIES_BYTES = 1_048_576;
/** Scope of unauthenticated senders, without a bound. */
const UNSCOPED: DecodeScope = { id: 0, admits: () => true };
const SHOWN_NAME_BYTES = 256;

const TEMPORALITIES: readonly (Temporality | null)[] = [null, "delta", "cumulative"];

const REQUEST_FIELDS = 1 << 1;
const RESOURCE_METRICS_FIELDS = 0b1110;

/**
 * Decodes ExportMetricsServiceRequests. Lazy: finds a known series by the bytes of resource, head and
 * attributes, without decoding strings. Not reentrant: a visitor must not call `decode` of the same decoder.
 */
export class MetricsDecoder {
  readonly #options: DecoderDefaults;
  readonly #cache: SeriesCache;
  readonly #reader = new WireReader();
  readonly #scratch = new Scratch();
  readonly #headKey = new Scratch();
  readonly #resourceKey = new Scratch();
  readonly #numbers = new NumberPointReader();
  readonly #histograms: HistogramPointReader;
  readonly #exponentials: ExponentialPointReader;
  #scope: DecodeScope = UNSCOPED;
  readonly #key = { bytes: this.#reader.bytes, view: this.#reader.view, start: 0, end: 0 };

  constructor(options: MetricsDecoderOptions = {}, onSeriesGone?: (series: Series) => void) {
    this.#options = { ...DECODER_DEFAULTS, ...options };
    for (const [name, value] of Object.entries(this.#options)) {
      if (name === "hashSeed" || typeof value === "boolean") continue;
      if (!(Number.isSafeInteger(value) && value > 0)) {
        throw new RangeError(`${name} must be a positive integer, got ${value}`);
      }
    }
    this.#cache = new SeriesCache({
      maxSeries: this.#options.maxSeries,
      maxSeriesBytes:
        options.maxSeriesBytes ?? Math.max(MIN_SERIES_BYTES, this.#options.maxSeries * BYTES_PER_SERIES),
      maxResources: this.#options.maxResources,
      maxHeads: MAX_HEADS,
      seed: this.#options.hashSeed,
      ...(onSeriesGone === undefined ? {} : { onGone: onSeriesGone }),
    });
    this.#histograms = new HistogramPointReader(this.#options.maxBuckets);
    this.#exponentials = new ExponentialPointReader(this.#options.maxBuckets);
  }

  get seriesCount(): number {
    return this.#cache.size;
  }

  get seriesBytes(): number {
    return this.#cache.bytes;
  }

  /** Number of evictions. A returning series gets a new id and an empty `state`. */
  get evictedSeries(): number {
    return this.#cache.evictions;
  }

  /** Forgets series without a point in the newest `kept` generations, including this one. */
  forgetUnused(kept: number): void {
    this.#cache.endGeneration(kept);
  }

  /**
   * Visits a record's points in byte order within each resource.
   * @param scope owner of the record
   * @default shared
   * @throws OtlpError `too_large` before any point; `malformed` and `too_many_series` possibly after some
   * points
   */
  decode(bytes: Uint8Array, visitor: MetricsVisitor, scope: DecodeScope = UNSCOPED): void {
    if (bytes.length > this.#options.maxRecordBytes) {
      throw new OtlpError(
        "too_large",
        `a record must have at most ${this.#options.maxRecordBytes} bytes, got ${bytes.length}`,
      );
    }
    const reader = this.#reader;
    reader.reset(bytes);
    this.#scope = scope;
    try {
      while (reader.pos < reader.limit) {
        const tag = reader.tag();
        if (tag === 0x0a) this.#readResourceMetrics(visitor);
        else reader.skipUnknown(tag, REQUEST_FIELDS);
      }
    } finally {
      // An idle decoder must not keep the last record alive.
      reader.release();
      this.#keyAt(0, 0);
      this.#scope = UNSCOPED;
    }
  }

  #readResourceMetrics(visitor: MetricsVisitor): void {
    const reader = this.#reader;
    const outer = reader.enter();
    const start = reader.pos;
    const resource = this.#findResource();
    reader.pos = start;
    while (reader.pos < reader.limit) {
      const tag = reader.tag();
      if (tag === 0x12) this.#readScopeMetrics(resource, visitor);
      else reader.skip(tag);
    }
    reader.leave(outer);
  }

  /** The resource may follow the metrics. Several occurrences merge by joining their bytes. */
  #findResource(): SoughtResource | Refusal {
    const reader = this.#reader;
    const ranges: number[] = [];
    let length = 0;
    while (reader.pos < reader.limit) {
      const tag = reader.tag();
      if (tag === 0x0a) {
        const end = reader.end();
        length += end - reader.pos;
        if (ranges.length < 2 * MAX_PIECES) ranges.push(reader.pos, end);
        else length = Number.POSITIVE_INFINITY;
        reader.pos = end;
      } else if (tag === 0x12 || tag === 0x1a) reader.skip(tag);
      else reader.skipUnknown(tag, RESOURCE_METRICS_FIELDS);
    }
    if (length > this.#options.maxResourceBytes) return "too_large";
    this.#resourceKey.clear();
    for (let i = 0; i < ranges.length; i += 2)
      this.#resourceKey.append(reader.bytes, ranges[i]!, ranges[i + 1]!);
    const entry = this.#cache.findResource(this.#resourceKey, this.#options.maxAttributes, this.#scope);
    return entry === "too_many_attributes" ? entry : { key: this.#resourceKey, entry };
  }

  #readScopeMetrics(resource: SoughtResource | Refusal, visitor: MetricsVisitor): void {
    const reader = this.#reader;
    const outer = reader.enter();
    while (reader.pos < reader.limit) {
      const tag = reader.tag();
      if (tag === 0x12) this.#readMetric(resource, visitor);
      else if (tag === 0x0a || tag === 0x1a) reader.skip(tag);
      else reader.skipUnknown(tag, RESOURCE_METRICS_FIELDS);
    }
    reader.leave(outer);
  }

  #readMetric(resource: SoughtResource | Refusal, visitor: MetricsVisitor): void {
    const reader = this.#reader;
    const outer = reader.enter();
    const parts = findParts(this.#reader);
    const metric = DATA_KINDS[parts.dataField];
    if (parts.dataRanges.length > 2 * MAX_PIECES) visitor.refused("too_large", this.#nameOf(parts));
    else if (metric === undefined) visitor.refused("no_data", this.#nameOf(parts));
    else if (metric.kind === "summary") this.#refuseAll(parts, "unsupported_type", visitor);
    else if (typeof resource === "string") this.#refuseAll(parts, resource, visitor);
    else {
      readDataHead(this.#reader, parts);
      if (metric.kind !== "gauge" && parts.temporality === 0)
        this.#refuseAll(parts, "bad_temporality", visitor);
      else this.#readPoints(parts, metric.kind, metric.attributesField, resource, visitor);
    }
    reader.leave(outer);
  }

  #readPoints(
    parts: MetricParts,
    kind: MetricKind,
    attributesField: number,
    resource: SoughtResource,
    visitor: MetricsVisitor,
  ): void {
    const reader = this.#reader;
    const head = this.#findHead(parts, kind);
    if (typeof head === "string") {
      this.#refuseAll(parts, head, visitor);
      return;
    }
    const outer = reader.limit;
    for (let i = 0; i < parts.dataRanges.length; i += 2) {
      reader.pos = parts.dataRanges[i]!;
      reader.limit = parts.dataRanges[i + 1]!;
      while (reader.pos < reader.limit) {
        const tag = reader.tag();
        if (tag === 0x0a) this.#readPoint(head, attributesField, resource, visitor);
        else reader.skip(tag);
      }
    }
    reader.limit = outer;
  }

  #readPoint(
    sought: SoughtHead,
    attributesField: number,
    resource: SoughtResource,
    visitor: MetricsVisitor,
  ): void {
    const reader = this.#reader;
    const outer = reader.enter();
    const start = reader.pos;
    const { head } = sought;
    const point = this.#pointReader(head.kind);
    point.read(reader);
    const { attributes } = point;
    let fault =
      attributes.count > this.#options.maxAttributes
        ? "too_many_attributes"
        : point.fault(head.range, head.monotonic);
    if (fault === null && attributes.bytes > this.#options.maxAttributeBytes)
      fault = this.#lengthFault(attributes, start, attributesField);
    if (fault === null) {
      const key = attributes.scattered
        ? this.#gatherAttributes(start, attributesField)
        : this.#keyAt(attributes.start, attributes.end);
      const cache = this.#cache;
      const series =
        cache.find(sought, resource, key) ?? cache.add(sought, resource, key, attributesField, this.#scope);
      if (series === null) fault = "too_many_series";
      else this.#visit(series, visitor);
    }
    if (fault !== null) visitor.refused(fault, head.name);
    reader.leave(outer);
  }

  #lengthFault({ bytes }: AttributeSpan, start: number, field: number): Refusal | null {
    const { maxAttributeBytes, maxPointAttributeBytes } = this.#options;
    if (bytes > maxPointAttributeBytes) return "too_large";
    const reader = this.#reader;
    reader.pos = start;
    while (reader.pos < reader.limit) {
      const fieldStart = reader.pos;
      const tag = reader.tag();
      reader.skip(tag);
      if (tag === field * 8 + WIRE_BYTES && reader.pos - fieldStart > maxAttributeBytes) return "too_large";
    }
    return null;
  }

  #pointReader(kind: MetricKind): NumberPointReader | HistogramPointReader | ExponentialPointReader {
    if (kind === "exponentialHistogram") return this.#exponentials;
    return kind === "histogram" ? this.#histograms : this.#numbers;
  }

  #visit(series: Series, visitor: MetricsVisitor): void {
    if (series.kind === "exponentialHistogram") {
      const point = this.#exponentials;
      visitor.exponentialHistogram(series, point.startMs, point.timeMs, point);
    } else if (series.kind === "histogram") {
      const point = this.#histograms;
      visitor.histogram(series, point.startMs, point.timeMs, point.count, point.sum);
    } else {
      const point = this.#numbers;
      visitor.number(series, point.startMs, point.timeMs, point.value);
    }
  }

  #gatherAttributes(start: number, field: number): KeyRange {
    const reader = this.#reader;
    reader.pos = start;
    this.#scratch.clear();
    while (reader.pos < reader.limit) {
      const fieldStart = reader.pos;
      const tag = reader.tag();
      reader.skip(tag);
      if (tag === field * 8 + WIRE_BYTES) this.#scratch.append(reader.bytes, fieldStart, reader.pos);
    }
    return this.#scratch;
  }

  #refuseAll(parts: MetricParts, reason: Refusal, visitor: MetricsVisitor): void {
    const reader = this.#reader;
    const name = this.#nameOf(parts);
    const outer = reader.limit;
    for (let i = 0; i < parts.dataRanges.length; i += 2) {
      reader.pos = parts.dataRanges[i]!;
      reader.limit = parts.dataRanges[i + 1]!;
      while (reader.pos < reader.limit) {
        const tag = reader.tag();
        reader.skip(tag);
        if (tag === 0x0a) visitor.refused(reason, name);
      }
    }
    reader.limit = outer;
  }

  #findHead(parts: MetricParts, kind: MetricKind): SoughtHead | Refusal {
    const { bytes } = this.#reader;
    const key = this.#headKey;
    const nameLength = parts.nameEnd - parts.nameStart;
    if (nameLength + parts.unitEnd - parts.unitStart > this.#options.maxNameBytes) return "too_large";
    key.clear();
    key.append(bytes, parts.nameStart, parts.nameEnd);
    key.append(bytes, parts.unitStart, parts.unitEnd);
    // The name's length distinguishes ("ab", "c") from ("a", "bc").
    const shape =
      (((nameLength * 16 + parts.dataField) * 4 + parts.temporality) * 2 + (parts.monotonic ? 1 : 0)) | 0;
    const entry = this.#cache.findHead(shape, key);
    const head = entry?.head ?? this.#createHead(parts, kind);
    if (head.kind === "sum" && head.range.monotonic && !head.monotonic) return "not_monotonic";
    return { key, shape, head, entry };
  }

  #createHead(parts: MetricParts, kind: MetricKind): MetricHead {
    const { bytes } = this.#reader;
    const name = textOf(bytes, parts.nameStart, parts.nameEnd);
    return {
      name,
      unit: textOf(bytes, parts.unitStart, parts.unitEnd),
      kind,
      temporality: kind === "gauge" ? null : TEMPORALITIES[parts.temporality]!,
      // Histogram counts only grow.
      monotonic: kind === "sum" ? parts.monotonic : kind !== "gauge",
      range: this.#options.readsSums ? sumRangeOf(name) : valueRangeOf(name),
    };
  }

  #nameOf(parts: MetricParts): string {
    return textOf(
      this.#reader.bytes,
      parts.nameStart,
      Math.min(parts.nameEnd, parts.nameStart + SHOWN_NAME_BYTES),
    );
  }

  #keyAt(start: number, end: number): KeyRange {
    const key = this.#key;
    key.bytes = this.#reader.bytes;
    key.view = this.#reader.view;
    key.start = start;
    key.end = end;
    return key;
  }
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8");
}
