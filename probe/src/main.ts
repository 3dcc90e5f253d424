// The probe's process: the only place that knows the environment, the real clock and the signals.
import { OtlpHttpPublisher } from "@isochrone/bus/otlp-http";
import {
  createLogger,
  createRegistry,
  loadSettings,
  runService,
  serviceSettings,
  systemClock,
  systemRandom,
  SettingsError,
} from "@isochrone/runtime";
import { startTracing, tracingEndpoint } from "@isochrone/runtime/tracing";
import { createProbe } from "./probe.ts";
import { probeSettings } from "./settings.ts";

async function main(): Promise<number> {
  const file = process.env["ISOCHRONE_CONFIG"];
  const { service, probe } = loadSettings([serviceSettings, probeSettings], { env: process.env, file });
  const logger = createLogger({ service: "probe", level: service.logLevel, format: service.logFormat });
  const registry = createRegistry({ processMetrics: true, prefix: "isochrone_probe_" });
  const endpoint = tracingEndpoint(service.otlpEndpoint, process.env);
  const tracing = await startTracing({ serviceName: "isochrone-probe", endpoint });
  const url = `${probe.aggregatorUrl.replace(/\/+$/, "")}/v1/metrics`;
  const bus = new OtlpHttpPublisher({
    url,
    onPartialSuccess: (partial) =>
      logger.warnOnce("partial-success", "aggregator did not take everything", { partial }),
  });
  const running = createProbe(probe, { bus, clock: systemClock, random: systemRandom, logger, registry });
  const code = await runService({ service: running, logger, stopDeadlineMs: service.shutdownDeadlineMs });
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
