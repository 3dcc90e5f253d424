// The part of OTLP metrics (opentelemetry-proto 1.x, collector/metrics/v1 and metrics/v1) that Isochrone
// writes and reads. Times are milliseconds since the epoch as doubles (microsecond grain is kept); on the
// wire they are nanoseconds.

export type AttributeValue = string | number | boolean;
export type Attributes = Readonly<Record<string, AttributeValue>>;

export type Temporality = "delta" | "cumulative";

/** A number at a time. `startMs` is when a sum began to count; undefined where unknown (0 on the wire). */
export interface NumberPoint {
  readonly attributes: Attributes;
  readonly startMs?: number;
  readonly timeMs: number;
  readonly value: number;
  /** Encode as sfixed64 instead of double. @default false */
  readonly integer?: boolean;
}

export interface HistogramPoint {
  readonly attributes: Attributes;
  readonly startMs?: number;
  readonly timeMs: number;
  readonly count: number;
  readonly sum: number;
  /** Upper bounds, ascending, without +Inf; bucketCounts has one more entry. Not cumulative over buckets. */
  readonly explicitBounds: readonly number[];
  readonly bucketCounts: readonly number[];
}

/**
 * Data of a base-2 exponential histogram without a place and time. Bucket i of `positive` is
 * (base^(offset+i), base^(offset+i+1)], base = 2^(2^-scale).
 */
export interface ExponentialHistogramData {
  readonly scale: number;
  readonly zeroCount: number;
  readonly offset: number;
  readonly bucketCounts: ArrayLike<number>;
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

export interface ExponentialHistogramPoint {
  readonly attributes: Attributes;
  readonly startMs?: number;
  readonly timeMs: number;
  readonly data: ExponentialHistogramData;
}

interface MetricHead {
  readonly name: string;
  /** UCUM, e.g. "s", "By", "1". */
  readonly unit?: string;
  readonly description?: string;
}

export type Metric = MetricHead &
  (
    | { readonly kind: "gauge"; readonly points: readonly NumberPoint[] }
    | {
        readonly kind: "sum";
        readonly temporality: Temporality;
        readonly monotonic: boolean;
        readonly points: readonly NumberPoint[];
      }
    | {
        readonly kind: "histogram";
        readonly temporality: Temporality;
        readonly points: readonly HistogramPoint[];
      }
    | {
        readonly kind: "exponentialHistogram";
        readonly temporality: Temporality;
        readonly points: readonly ExponentialHistogramPoint[];
      }
  );

/** One resource with one scope: what a source publishes in one record. */
export interface MetricsBatch {
  readonly resource: Attributes;
  readonly scope: { readonly name: string; readonly version?: string };
  readonly metrics: readonly Metric[];
}

export type MetricKind = Metric["kind"];

/**
 * One stream of points: a metric with one label set of one resource. A decoder interns it: equal bytes give
 * the same object, so a consumer may hang its own state on it and look nothing up again.
 */
export interface Series {
  /** Small integer, never reused while the decoder lives. */
  readonly id: number;
  readonly name: string;
  readonly unit: string;
  readonly kind: MetricKind;
  /** null for gauges. */
  readonly temporality: Temporality | null;
  readonly monotonic: boolean;
  readonly resource: Attributes;
  /** Parsed on first use from the bytes. */
  readonly attributes: Attributes;
  /** The consumer's own; the decoder never touches it, and it goes when the series is evicted. */
  state: unknown;
}

/** Why a point, or a whole record, was not taken. */
export const REFUSALS = [
  "not_a_number",
  "negative",
  "absurd",
  /** Not what the metric can say, see value-ranges.ts. */
  "out_of_range",
  "not_monotonic",
  "no_time",
  "no_data",
  "bad_temporality",
  "unsupported_type",
  "malformed",
  "too_large",
  "too_many_attributes",
  /** There is no room for what its series would need, or the scope did not admit it. */
  "too_many_series",
] as const;
export type Refusal = (typeof REFUSALS)[number];

/** Receives the points of a record in the order of the bytes. The decoder has checked every number. */
export interface MetricsVisitor {
  /**
   * A gauge's or a sum's point. `startMs` is 0 where the source doesn't know. Monotonic sums are never
   * negative here.
   */
  number(series: Series, startMs: number, timeMs: number, value: number): void;
  /** An explicit-bounds histogram; only its count and sum are read. */
  histogram(series: Series, startMs: number, timeMs: number, count: number, sum: number): void;
  /** `data` is only valid during the call: merge or copy it. */
  exponentialHistogram(series: Series, startMs: number, timeMs: number, data: ExponentialHistogramData): void;
  /** A point that was left out. Others of the same record still come. */
  refused(reason: Refusal, metricName: string): void;
}
