export { ClusterTargets, DEFAULT_DISCOVERY } from "./adapters/cluster-targets.ts";
export { createCollector } from "./collector.ts";
export { createCollectorMetrics, type CollectorMetrics } from "./metrics.ts";
export type { TargetSource } from "./ports/ports.ts";
export { collectorSettings } from "./settings.ts";
