export {
  AGENT_FAMILIES,
  BYTE_REPORTERS,
  CONNECTION_FAMILIES,
  endLabels,
  isWorkloadKind,
  LINKERD_FAMILIES,
  repeatsOthers,
  SAMPLING_FAMILIES,
} from "./byte-sources.ts";
export type { ByteFamily, ByteReporter, EndRule } from "./byte-sources.ts";
export { CounterTracks, spreadOverPanes } from "./counters.ts";
export type { Increment, PaneSums } from "./counters.ts";
export { Distribution } from "./distribution.ts";
export { checkHistogramData } from "./histogram-check.ts";
export type { Percentiles } from "./distribution.ts";
export { OtlpError } from "./errors.ts";
export { decodeHeaders, encodeHeaders } from "./headers.ts";
export type { RecordIdentity } from "./headers.ts";
export { parseSpeaker, speakerText } from "./speaker.ts";
export type { ProvenSpeaker } from "./speaker.ts";
export {
  CONNECTION_ATTRIBUTES,
  CONNECTION_METRICS,
  FLOW_ATTRIBUTES,
  FLOW_METRICS,
  HEADERS,
  METHODS,
  NODE_METRICS,
  OUTSIDE_ATTRIBUTES,
  OUTSIDE_DIRECTIONS,
  OUTCOMES,
  PROBE_ATTRIBUTES,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
  STATE_TOPICS,
  TOPICS,
} from "./names.ts";
export type { BandwidthResult, Method, Outcome } from "./names.ts";
export { InterfaceChoice, isNodeInterface } from "./interfaces.ts";
export { AttributeBytes, attributeKey } from "./otlp/attribute-bytes.ts";
export type { AttributeKey } from "./otlp/attribute-bytes.ts";
export { equalBytes, hashBytes } from "./otlp/byte-hash.ts";
export { MetricsDecoder } from "./otlp/decode.ts";
export { encodeMetrics } from "./otlp/encode.ts";
export type { EncodedAttributes } from "./otlp/encode.ts";
export { REFUSALS } from "./otlp/model.ts";
export type {
  AttributeValue,
  Attributes,
  ExponentialHistogramData,
  ExponentialHistogramPoint,
  Metric,
  MetricsBatch,
  MetricsVisitor,
  NumberPoint,
  Refusal,
  Series,
} from "./otlp/model.ts";
export { ATTRIBUTE_FIELDS, RecordWriter } from "./otlp/record-writer.ts";
export type { MetricShape } from "./otlp/record-writer.ts";
export {
  ALL_LATENCIES,
  CLUSTER_LABELS,
  isFailedResponse,
  isKeptUsage,
  isOfCores,
  isIdleTime,
  LATENCY_BOUNDS_MS,
  LATENCY_BUCKETS,
  podLabel,
  reductionOf,
  RUNTIME_LABELS,
} from "./reduction.ts";
export type { FamilyReduction, KeptLabel, LabelLookup, UsageRow } from "./reduction.ts";
export { SequenceTracker } from "./sequence-tracker.ts";
export { MAX_RTT_SECONDS } from "./value-ranges.ts";
export { Window } from "./window.ts";
