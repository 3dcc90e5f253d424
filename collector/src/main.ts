// The collector's process: the only place that knows the environment, the real clock and the signals.
import { OtlpHttpPublisher } from "@isochrone/bus/otlp-http";
import {
  composeServices,
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
import { staticTargets } from "./adapters/static-targets.ts";
import { createCollector } from "./collector.ts";
import { createPages } from "./pages.ts";
import { collectorSettings } from "./settings.ts";

async function main(): Promise<number> {
  const settings = loadSettings([serviceSettings, collectorSettings], {
    env: process.env,
    ...(process.env["ISOCHRONE_CONFIG"] === undefined ? {} : { file: process.env["ISOCHRONE_CONFIG"] }),
  });
  const { service, collector } = settings;
  const logger = createLogger({ service: "collector", level: service.logLevel, format: service.logFormat });
  const registry = createRegistry();
  const tracing = await startTracing({
    serviceName: "isochrone-collector",
    endpoint: tracingEndpoint(service.otlpEndpoint, process.env),
  });
  const url = `${collector.aggregatorUrl.replace(/\/+$/, "")}/v1/metrics`;
  const bus = new OtlpHttpPublisher({
    url,
    onPartialSuccess: (partial) => logger.warnOnce("partial-success", "aggregator did not take everything", { partial }),
  });
  const targets = staticTargets(collector.staticTargets);
  const composed = composeServices(
    [
      { name: "pages", service: createPages(collector, { logger, registry }) },
      {
        name: "collector",
        service: createCollector(collector, {
          bus,
          targets,
          clock: systemClock,
          random: systemRandom,
          logger,
          registry,
        }),
      },
    ],
    { clock: systemClock, logger },
  );
  const code = await runService({ service: composed, logger, stopDeadlineMs: service.shutdownDeadlineMs });
  await tracing.stop();
  return code;
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof SettingsError ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
