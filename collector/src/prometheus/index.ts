export { PROMETHEUS_FAILURES, PrometheusError, type PrometheusFailure } from "./errors.ts";
export { createPrometheusMetrics, type PrometheusMetrics } from "./metrics.ts";
export {
  createPrometheusCollector,
  type PrometheusCollectorConfig,
  type PrometheusCollectorDependencies,
} from "./prometheus-collector.ts";
export { prometheusFields, prometheusRules } from "./settings.ts";
export { trustFields } from "../trust-settings.ts";
