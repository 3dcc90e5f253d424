// The graph API's graphs, polled as the settings say.
import { authorizedFetch } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";
import { GraphClient } from "@isochrone/topology/client";
import type { SchedulerMetrics } from "./adapters/metrics.ts";
import type { GraphSource } from "./ports/ports.ts";
import type { SchedulerPluginConfig } from "./settings.ts";
import { GraphApiSource } from "./adapters/graph-api-source.ts";

export function pollGraphs(
  config: SchedulerPluginConfig,
  deps: { readonly clock: Clock; readonly logger: Logger },
  metrics: SchedulerMetrics,
): GraphSource {
  const { graphUrl: baseUrl, requestTimeoutMs: timeoutMs, graphTokenFile, graphCaFile } = config;
  const fetch = authorizedFetch({ tokenFile: graphTokenFile, caFile: graphCaFile, clock: deps.clock });
  return new GraphApiSource({
    client: new GraphClient({ baseUrl, timeoutMs, fetch }),
    refreshMs: config.refreshMs,
    clock: deps.clock,
    logger: deps.logger,
    onFailure: (reason) => metrics.graphRefreshFailures.inc({ reason }),
    onDropped: (kind, count) => metrics.graphPartsDropped.inc({ kind }, count),
  });
}
