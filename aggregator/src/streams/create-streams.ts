import type { Clock, Logger } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import { openSchedulerPlugin } from "../adapters/open-scheduler-plugin.ts";
import type { PublishedGraphs } from "../domain/graphs/graph-keeper.ts";
import type { AggregatorConfig } from "../settings.ts";
import { TrafficKeeper } from "../traffic/traffic-keeper.ts";
import { StreamsKeeper } from "./streams-keeper.ts";

interface StreamsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

interface AggregatorStreams extends ReturnType<typeof openSchedulerPlugin> {
  readonly streams: StreamsKeeper;
  readonly traffic: TrafficKeeper;
}

/** @param graphs the newest graphs; null before the first */
export function createStreams(
  config: AggregatorConfig,
  deps: StreamsDeps,
  graphs: () => PublishedGraphs | null,
): AggregatorStreams {
  const plugin = openSchedulerPlugin(config, deps);
  const { decisions, flowPlans: plans } = plugin;
  const around = { ...deps, decisions, graphs, horizonMs: config.historyMs };
  return { ...plugin, streams: new StreamsKeeper({ ...around, plans }), traffic: new TrafficKeeper(around) };
}
