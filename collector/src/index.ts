export { ClusterTargets, type ClusterTargetsOptions } from "./adapters/cluster-targets.ts";
export { joinTargets, staticTargets } from "./adapters/static-targets.ts";
export { createCollector, type CollectorDependencies } from "./collector.ts";
export { SCRAPE_FAILURES, ScrapeError, type ScrapeFailure } from "./errors.ts";
export { createCollectorMetrics, type CollectorMetrics } from "./metrics.ts";
export type { PageReader, Target, TargetKind, TargetSource } from "./ports.ts";
export { collectorSettings, type CollectorConfig } from "./settings.ts";
