export { createConnectionCollector } from "../connections/connection-collector.ts";
export { ConnectionRounds } from "../connections/connection-rounds.ts";
export { ConntrackSocket } from "../connections/conntrack-socket.ts";
export { staticTargets } from "../adapters/static-targets.ts";
export type { Target } from "../ports/ports.ts";
export { collectorSpeaker } from "../speaker.ts";
export {
  createPrometheusCollector,
  type PrometheusCollectorConfig,
} from "../prometheus/prometheus-collector.ts";
export { prometheusFields, prometheusRules } from "../prometheus/settings.ts";
export { trustFields } from "../trust-settings.ts";
