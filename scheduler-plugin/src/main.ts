// The scheduler-plugin's process: the only place that knows the environment, the real clock and the signals.
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
import { createSchedulerPlugin } from "./service.ts";
import { schedulerPluginSettings } from "./settings.ts";

async function main(): Promise<void> {
  const { env } = process;
  const { service, scheduler } = loadSettings([serviceSettings, schedulerPluginSettings], {
    env,
    file: env["ISOCHRONE_CONFIG"],
  });
  const { logLevel: level, logFormat: format, otlpEndpoint } = service;
  const logger = createLogger({ service: "scheduler-plugin", level, format });
  const endpoint = tracingEndpoint(otlpEndpoint, env);
  const tracing = await startTracing({ serviceName: "isochrone-scheduler-plugin", endpoint });
  const plugin = createSchedulerPlugin(scheduler, {
    clock: systemClock,
    random: systemRandom,
    logger,
    registry: createRegistry({ processMetrics: true }),
  });
  await runService({
    service: {
      start: () => plugin.start(),
      stop: async () => {
        await plugin.stop();
        await tracing.stop();
      },
    },
    logger,
    drainDeadlineMs: service.drainDeadlineMs,
    stopDeadlineMs: service.shutdownDeadlineMs,
  });
}

main().catch((error: unknown) => {
  // Mistakes in the settings are the user's to read; any other failure needs its stack.
  process.stderr.write(
    `${error instanceof SettingsError ? error.message : String((error as Error).stack)}\n`,
  );
  process.exitCode = 1;
});
