// The aggregator's process: the only place that knows the environment, the real clock and the signals.
import { createMemoryBus } from "@isochrone/bus/memory";
import { createPage } from "@isochrone/dashboard";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import {
  createLogger,
  createRegistry,
  loadSettings,
  runService,
  serviceSettings,
  SettingsError,
  systemClock,
  systemRandom,
} from "@isochrone/runtime";
import { startTracing, tracingEndpoint } from "@isochrone/runtime/tracing";
import { loadDump } from "./adapters/dump-store.ts";
import { createAggregator } from "./aggregator.ts";
import { aggregatorSettings } from "./settings.ts";

async function main(): Promise<number> {
  const { service, aggregator: config } = loadSettings([serviceSettings, aggregatorSettings], {
    env: process.env,
    file: process.env["ISOCHRONE_CONFIG"],
  });
  const logger = createLogger({ service: "aggregator", level: service.logLevel, format: service.logFormat });
  const tracing = await startTracing({
    serviceName: "isochrone-aggregator",
    endpoint: tracingEndpoint(service.otlpEndpoint, process.env),
  });
  if (config.dumpFile === null) {
    logger.warn(
      "no cluster: aggregator.dumpFile is not set, so the graphs have links and channels but no nodes and pods",
    );
  }
  const store =
    config.dumpFile === null
      ? createMemoryStore({ clock: systemClock })
      : await loadDump(config.dumpFile, systemClock);
  const bus = createMemoryBus({ clock: systemClock, logger });
  const aggregator = createAggregator(config, {
    bus,
    store,
    clock: systemClock,
    random: systemRandom,
    logger,
    registry: createRegistry(),
    page: createPage(),
  });
  const code = await runService({
    service: aggregator,
    logger,
    drainDeadlineMs: service.drainDeadlineMs,
    stopDeadlineMs: service.shutdownDeadlineMs,
  });
  await bus.close();
  await tracing.stop();
  return code;
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    process.stderr.write(
      `${error instanceof SettingsError ? error.message : String((error as Error).stack ?? error)}\n`,
    );
    process.exitCode = 1;
  },
);
