export {
  ClusterTargets,
  DEFAULT_DISCOVERY,
  type ClusterTargetsOptions,
  type DiscoveryOptions,
} from "./adapters/cluster-targets.ts";
export { joinTargets, staticTargets } from "./adapters/static-targets.ts";
export { createCollector, type CollectorDependencies } from "./collector.ts";
export { SCRAPE_FAILURES, ScrapeError, type ScrapeFailure } from "./ports/errors.ts";
export { createCollectorMetrics, SKIP_REASONS, type CollectorMetrics, type SkipReason } from "./metrics.ts";
export { nodeTargets, type NodeTargetsDependencies } from "./node-mode.ts";
export { TARGET_KINDS, TARGET_ROLES } from "./ports/ports.ts";
export type { PageReader, Target, TargetKind, TargetRole, TargetSource } from "./ports/ports.ts";
export { collectorSettings, type CollectorConfig } from "./settings.ts";
export { collectorSpeaker } from "./speaker.ts";
