import type { Clock, Logger } from "@isochrone/runtime";
import { STALE_AFTER_WINDOWS } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { openSchedulerPlugin } from "../adapters/open-scheduler-plugin.ts";
import { FlowRates } from "../domain/flow-rates.ts";
import type { AggregatorConfig } from "../settings.ts";
import { StreamsKeeper } from "./streams-keeper.ts";

interface StreamsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

interface AggregatorStreams extends ReturnType<typeof openSchedulerPlugin> {
  /** What ingest fills. */
  readonly flows: FlowRates;
  readonly streams: StreamsKeeper;
}

/** What this aggregator asks the scheduler-plugin for, and stream jobs with what their flows have sent. */
export function createStreams(config: AggregatorConfig, deps: StreamsDeps): AggregatorStreams {
  const { maxChannels: maxEntries, windowMs, historyMs: horizonMs } = config;
  const flows = new FlowRates({ maxEntries, maxAgeMs: STALE_AFTER_WINDOWS * windowMs });
  const plugin = openSchedulerPlugin(config, deps);
  const { decisions, flowPlans: plans } = plugin;
  return { ...plugin, flows, streams: new StreamsKeeper({ ...deps, decisions, plans, flows, horizonMs }) };
}
