// The supported part of OTLP metrics (opentelemetry-proto 1.x). Times are milliseconds since the epoch, with
// microsecond precision; nanoseconds on the wire.

export type AttributeValue = string | number | boolean;
export type Attributes = Readonly<Record<string, AttributeValue>>;

export type Temporality = "delta" | "cumulative";

/** A gauge's or a sum's point. `startMs` is the start of a sum; undefined: unknown. */
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
  /** Ascending upper bounds without +Inf; bucketCounts has one more entry and isn't cumulative. */
  readonly explicitBounds: readonly number[];
  readonly bucketCounts: readonly number[];
}

/** Bucket i of `positive` is (base^(offset+i), base^(offset+i+1)], base = 2^(2^-scale). */
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
  /** Unit in UCUM, e.g. "s", "By", "1". */
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

export interface MetricsBatch {
  readonly resource: Attributes;
  readonly scope: { readonly name: string; readonly version?: string };
  readonly metrics: readonly Metric[];
}

export type MetricKind = Metric["kind"];

/**
 * One metric with one label set of one resource. Interned by the decoder, so that a consumer can attach its
 * own state.
 */
export interface Series {
  /** Id of the series; never reused while the decoder lives. */
  readonly id: number;
  readonly name: string;
  readonly unit: string;
  readonly kind: MetricKind;
  readonly temporality: Temporality | null;
  readonly monotonic: boolean;
  readonly resource: Attributes;
  /** Attributes of the series, parsed on first use. */
  readonly attributes: Attributes;
  /** State owned by the consumer; dropped when the series is evicted. */
  state: unknown;
}

/** Why a point or record was refused. */
export const REFUSALS = [
  "not_a_number",
  "negative",
  "absurd",
  /** Outside the metric's range, see value-ranges.ts. */
  "out_of_range",
  "not_monotonic",
  "no_time",
  "no_data",
  "bad_temporality",
  "unsupported_type",
  "malformed",
  "too_large",
  "too_many_attributes",
  /** No space for its series, or not admitted by the scope. */
  "too_many_series",
] as const;
export type Refusal = (typeof REFUSALS)[number];

export interface MetricsVisitor {
  /** A gauge's or a sum's point. `startMs` 0: unknown. Monotonic sums are never negative. */
  number(series: Series, startMs: number, timeMs: number, value: number): void;
  /** An explicit-bounds histogram, of which only count and sum are read. */
  histogram(series: Series, startMs: number, timeMs: number, count: number, sum: number): void;
  /** An exponential histogram. `data` is valid only during the call. */
  exponentialHistogram(series: Series, startMs: number, timeMs: number, data: ExponentialHistogramData): void;
  refused(reason: Refusal, metricName: string): void;
}
