export { HEADERS, METHODS, OUTCOMES, PROBE_ATTRIBUTES, PROBE_METRICS, RESOURCE_ATTRIBUTES, TOPICS } from "./names.ts";
export type { Method, Outcome } from "./names.ts";
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
