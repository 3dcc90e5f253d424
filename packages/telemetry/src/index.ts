export { CounterTrack, spreadOverPanes } from "./counters.ts";
export type { CounterTrackOptions, Increment } from "./counters.ts";
export { Distribution } from "./distribution.ts";
export type { Percentiles } from "./distribution.ts";
export { OTLP_ERROR_CODES, OtlpError } from "./errors.ts";
export type { OtlpErrorCode } from "./errors.ts";
export { DOMAIN_MAX, DOMAIN_MIN } from "./exponential-index.ts";
export { decodeHeaders, encodeHeaders } from "./headers.ts";
export type { RecordIdentity } from "./headers.ts";
export {
  HEADERS,
  METHODS,
  OUTCOMES,
  PROBE_ATTRIBUTES,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
  TOPICS,
} from "./names.ts";
export type { Method, Outcome } from "./names.ts";
export { MetricsDecoder } from "./otlp/decode.ts";
export type { MetricsDecoderOptions } from "./otlp/decode.ts";
export { encodeMetrics } from "./otlp/encode.ts";
export { REFUSALS } from "./otlp/model.ts";
export type {
  AttributeValue,
  Attributes,
  ExponentialHistogramData,
  ExponentialHistogramPoint,
  HistogramPoint,
  Metric,
  MetricKind,
  MetricsBatch,
  MetricsVisitor,
  NumberPoint,
  Refusal,
  Series,
  Temporality,
} from "./otlp/model.ts";
export { SequenceTracker } from "./sequence-tracker.ts";
export type { SequenceTrackerOptions } from "./sequence-tracker.ts";
export { Window } from "./window.ts";
export type { Pane, WindowOptions } from "./window.ts";
