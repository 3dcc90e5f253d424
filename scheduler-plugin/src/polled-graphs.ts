import { authorizedFetch } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";
import type { Demand, PriceList } from "@isochrone/topology";
import { GraphClient } from "@isochrone/topology/client";
import type { SchedulerMetrics } from "./adapters/metrics.ts";
import type { PlannerConfig } from "./planner/settings.ts";
import type { GraphSource } from "./ports/ports.ts";
import type { SchedulerPluginConfig } from "./settings.ts";
import { GraphApiSource } from "./adapters/graph-api-source.ts";

interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly planner?: Pick<PlannerConfig, "objective"> | undefined;
}

export function pollGraphs(
  config: SchedulerPluginConfig,
  deps: Surroundings,
  metrics: SchedulerMetrics,
): GraphSource {
  return new GraphApiSource({
    client: clientOf(config, deps),
    refreshMs: config.refreshMs,
    withPrices: (deps.planner?.objective ?? "latency") !== "latency",
    clock: deps.clock,
    logger: deps.logger,
    onFailure: (reason) => metrics.graphRefreshFailures.inc({ reason }),
    onDropped: (kind, count) => metrics.graphPartsDropped.inc({ kind }, count),
  });
}

export function demandOf(
  config: SchedulerPluginConfig,
  deps: Surroundings,
): (signal?: AbortSignal) => Promise<Demand> {
  const client = clientOf(config, deps);
  return async (signal) => (await client.demand(signal)).value;
}

export function savingsReaders(
  config: SchedulerPluginConfig,
  deps: Surroundings,
): { readonly readDemand: () => Promise<Demand>; readonly readPrices: () => Promise<PriceList> } {
  const client = clientOf(config, deps);
  return {
    readDemand: async () => (await client.demand()).value,
    readPrices: async () => (await client.prices()).value,
  };
}

function clientOf(config: SchedulerPluginConfig, { clock }: Surroundings): GraphClient {
  const { graphUrl: baseUrl, requestTimeoutMs: timeoutMs, graphTokenFile, graphCaFile } = config;
  const fetch = authorizedFetch({ tokenFile: graphTokenFile, caFile: graphCaFile, clock });
  return new GraphClient({ baseUrl, timeoutMs, fetch });
}
