import { OtlpError } from "../errors.ts";
import type { KeyRange } from "./byte-table.ts";
import { DATA_KINDS, findParts, readDataHead } from "./metric-parts.ts";
import type { MetricParts } from "./metric-parts.ts";
import type { MetricKind, MetricsVisitor, Refusal, Series, Temporality } from "./model.ts";
import { ExponentialPointReader, HistogramPointReader, NumberPointReader } from "./points.ts";
import { WIRE_BYTES, WireReader } from "./reader.ts";
import { Scratch } from "./scratch.ts";
import { SeriesCache } from "./series-cache.ts";
import type { DecodeScope, MetricHead, ResourceEntry } from "./series-cache.ts";

/** Bounds of a MetricsDecoder. */
export interface MetricsDecoderOptions {
  /** Series that are remembered; beyond it the least recently used goes. @default 1000000 */
  readonly maxSeries?: number;
  /** Resources that are remembered. A series goes on under a new id when its resource had to go. @default 65536 */
  readonly maxResources?: number;
  /** A longer record is refused as a whole. @default 16777216 */
  readonly maxRecordBytes?: number;
  /** A point with more attributes is left out. @default 128 */
  readonly maxAttributes?: number;
  /** A histogram point with more buckets is left out. @default 4096 */
  readonly maxBuckets?: number;
  /** 32-bit secret of the hash tables, against senders who choose colliding labels. @default 0 */
  readonly hashSeed?: number;
}

const DEFAULTS: Required<MetricsDecoderOptions> = {
  maxSeries: 1_000_000,
  maxResources: 65_536,
  maxRecordBytes: 16 * 1_024 * 1_024,
  maxAttributes: 128,
  maxBuckets: 4_096,
  hashSeed: 0,
};

const MAX_HEADS = 16_384;
/** Of senders that nobody tells apart, and nobody bounds. */
const UNSCOPED: DecodeScope = {
  id: 0,
  seriesLeft: Number.POSITIVE_INFINITY,
  resourcesLeft: Number.POSITIVE_INFINITY,
  namesLeft: Number.POSITIVE_INFINITY,
};

const TEMPORALITIES: readonly (Temporality | null)[] = [null, "delta", "cumulative"];

const REQUEST_FIELDS = 1 << 1;
const RESOURCE_METRICS_FIELDS = 0b1110;

/**
 * Reads ExportMetricsServiceRequests. It is lazy: a series that was seen before is found by the bytes of its resource, head and
 * attributes, and no string of it is decoded again. Not reentrant: a visitor must not call `decode` of the same decoder.
 */
export class MetricsDecoder {
  readonly #options: Required<MetricsDecoderOptions>;
  readonly #cache: SeriesCache;
  readonly #reader = new WireReader();
  readonly #scratch = new Scratch();
  readonly #numbers = new NumberPointReader();
  readonly #histograms: HistogramPointReader;
  readonly #exponentials: ExponentialPointReader;
  #scope: DecodeScope = UNSCOPED;
  readonly #key = { bytes: this.#reader.bytes, view: this.#reader.view, start: 0, end: 0 };

  /** @param onSeriesGone told of each series that is evicted or forgotten, so that what its `state` holds can be given back */
  constructor(options: MetricsDecoderOptions = {}, onSeriesGone?: (series: Series) => void) {
    this.#options = { ...DEFAULTS, ...options };
    for (const [name, value] of Object.entries(this.#options)) {
      if (name !== "hashSeed" && !(Number.isSafeInteger(value) && value > 0)) {
        throw new RangeError(`${name} must be a positive integer, got ${value}`);
      }
    }
    this.#cache = new SeriesCache({
      maxSeries: this.#options.maxSeries,
      maxResources: this.#options.maxResources,
      maxHeads: MAX_HEADS,
      seed: this.#options.hashSeed,
      ...(onSeriesGone === undefined ? {} : { onGone: onSeriesGone }),
    });
    this.#histograms = new HistogramPointReader(this.#options.maxBuckets);
    this.#exponentials = new ExponentialPointReader(this.#options.maxBuckets);
  }

  /** Series that are remembered now. */
  get seriesCount(): number {
    return this.#cache.size;
  }

  /** Series that had to go since the beginning. One that comes back gets a new id and an empty `state`. */
  get evictedSeries(): number {
    return this.#cache.evictions;
  }

  /**
   * Ends a generation: series that had no point in the newest `kept` ones, this one included, are forgotten, as if they had been evicted. Who
   * never calls it remembers all until there is no more room.
   */
  forgetUnused(kept: number): void {
    this.#cache.endGeneration(kept);
  }

  /**
   * Hands the points of a record to `visitor`, in the order of the bytes within each resource.
   * @param scope whose record it is. @default everybody's
   * @throws OtlpError `too_large` before anything is read; `malformed` where the bytes stop making sense: points before
   *   that place have been handed over by then; `too_many_series` where the scope has no room left for what is new, likewise
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
      // A decoder may rest for long: it must not keep the last record alive.
      reader.release();
      this.#keyAt(0, 0);
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

  /** The resource may come after the metrics; of several ones the fields add up, which is what joining their bytes does. */
  #findResource(): ResourceEntry {
    const reader = this.#reader;
    const ranges: number[] = [];
    while (reader.pos < reader.limit) {
      const tag = reader.tag();
      if (tag === 0x0a) {
        const end = reader.end();
        ranges.push(reader.pos, end);
        reader.pos = end;
      } else if (tag === 0x12 || tag === 0x1a) reader.skip(tag);
      else reader.skipUnknown(tag, RESOURCE_METRICS_FIELDS);
    }
    if (ranges.length === 2) return this.#cache.resource(this.#keyAt(ranges[0]!, ranges[1]!), this.#scope);
    this.#scratch.clear();
    for (let i = 0; i < ranges.length; i += 2) this.#scratch.append(reader.bytes, ranges[i]!, ranges[i + 1]!);
    return this.#cache.resource(this.#scratch, this.#scope);
  }

  #readScopeMetrics(resource: ResourceEntry, visitor: MetricsVisitor): void {
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

  #readMetric(resource: ResourceEntry, visitor: MetricsVisitor): void {
    const reader = this.#reader;
    const outer = reader.enter();
    const parts = findParts(this.#reader);
    const metric = DATA_KINDS[parts.dataField];
    if (metric === undefined) visitor.refused("no_data", this.#nameOf(parts));
    else if (metric.kind === "summary") this.#refuseAll(parts, "unsupported_type", visitor);
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
    resource: ResourceEntry,
    visitor: MetricsVisitor,
  ): void {
    const reader = this.#reader;
    const head = this.#internHead(parts, kind);
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
    head: MetricHead,
    attributesField: number,
    resource: ResourceEntry,
    visitor: MetricsVisitor,
  ): void {
    const reader = this.#reader;
    const outer = reader.enter();
    const start = reader.pos;
    const point = this.#pointReader(head.kind);
    point.read(reader);
    const fault =
      point.attributes.count > this.#options.maxAttributes
        ? "too_many_attributes"
        : point.fault(head.monotonic);
    if (fault === null) {
      const { attributes } = point;
      const key = attributes.scattered
        ? this.#gatherAttributes(start, attributesField)
        : this.#keyAt(attributes.start, attributes.end);
      const series = this.#cache.series(head, resource, key, attributesField, this.#scope);
      if (series === null) visitor.refused("too_many_series", head.name);
      else this.#visit(series, visitor);
    } else visitor.refused(fault, head.name);
    reader.leave(outer);
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

  /** Copies the attribute fields of a point together. */
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

  #internHead(parts: MetricParts, kind: MetricKind): MetricHead {
    const { bytes } = this.#reader;
    this.#scratch.clear();
    this.#scratch.append(bytes, parts.nameStart, parts.nameEnd);
    this.#scratch.append(bytes, parts.unitStart, parts.unitEnd);
    // The length of the name keeps ("ab", "c") and ("a", "bc") apart.
    const nameLength = parts.nameEnd - parts.nameStart;
    const shape =
      ((nameLength * 16 + parts.dataField) * 4 + parts.temporality) * 2 + (parts.monotonic ? 1 : 0);
    return this.#cache.head(shape | 0, this.#scratch, this.#scope, (id) => ({
      id,
      name: this.#nameOf(parts),
      unit: textOf(bytes, parts.unitStart, parts.unitEnd),
      kind,
      temporality: kind === "gauge" ? null : TEMPORALITIES[parts.temporality]!,
      // Counts of a histogram only grow.
      monotonic: kind === "sum" ? parts.monotonic : kind !== "gauge",
    }));
  }

  #nameOf(parts: MetricParts): string {
    return textOf(this.#reader.bytes, parts.nameStart, parts.nameEnd);
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
