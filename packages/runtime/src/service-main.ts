// What every service's process does alike: read the settings, log, trace, run until a signal.
import type { Registry } from "prom-client";
import type { Clock, Random } from "./clock.ts";
import { composeServices } from "./lifecycle/compose.ts";
import { runService } from "./lifecycle/run-service.ts";
import { createLogger } from "./log/create-logger.ts";
import type { Logger } from "./log.ts";
import { createRegistry } from "./metrics.ts";
import { SettingsError } from "./errors.ts";
import type { Service } from "./service.ts";
import { loadSettings } from "./settings/load.ts";
import type { Section, SettingsOf } from "./settings/section.ts";
import { serviceSettings } from "./settings/service-settings.ts";
import { systemClock, systemRandom } from "./system.ts";
import { startTracing, tracingEndpoint } from "./tracing.ts";

/** What a service is made with, apart from its settings. */
export interface ProcessSurroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** Options of {@link serviceMain}. */
export interface ServiceMainOptions<S extends Section> {
  /** Of the service, as in `service.name` without the prefix `isochrone-`. */
  readonly name: string;
  readonly section: S;
  /** Usually process.env. ISOCHRONE_CONFIG names the settings file, which services may share. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Several services are started in this order and stopped in reverse. */
  create(
    config: SettingsOf<S>,
    surroundings: ProcessSurroundings,
  ): Promise<readonly Service[]> | readonly Service[];
}

/** Sections of the services of this product: one file may configure them all. */
const ALL_SECTIONS = ["probe", "collector", "aggregator", "scheduler"];

/**
 * The body of a service's main.ts. Ends the process: 0 after a clean stop, 1 otherwise. Mistakes in the settings are
 * printed as they are, for people; any other failure to start comes with its stack.
 */
export async function serviceMain<S extends Section>(options: ServiceMainOptions<S>): Promise<void> {
  try {
    await run(options);
  } catch (error) {
    const text = error instanceof SettingsError ? error.message : ((error as Error).stack ?? String(error));
    process.stderr.write(`${text}\n`);
    process.exitCode = 1;
  }
}

async function run<S extends Section>(options: ServiceMainOptions<S>): Promise<void> {
  const { name, section, env } = options;
  const ignoreSections = ALL_SECTIONS.filter((other) => other !== section.name);
  const loaded = loadSettings([serviceSettings, section], {
    env,
    file: env["ISOCHRONE_CONFIG"],
    ignoreSections,
  });
  const { service } = loaded as { readonly service: SettingsOf<typeof serviceSettings> };
  const config = (loaded as Readonly<Record<string, unknown>>)[section.name] as SettingsOf<S>;
  const logger = createLogger({ service: name, level: service.logLevel, format: service.logFormat });
  const tracing = await startTracing({
    serviceName: `isochrone-${name}`,
    endpoint: tracingEndpoint(service.otlpEndpoint, env),
  });
  const registry = createRegistry({ processMetrics: true });
  const services = await options.create(config, {
    clock: systemClock,
    random: systemRandom,
    logger,
    registry,
  });
  const tracer: Service = { start: async () => undefined, stop: () => tracing.stop() };
  const named = [tracer, ...services].map((each, index) => ({
    name: index === 0 ? "tracing" : `${name} ${index}`,
    service: each,
  }));
  await runService({
    service: composeServices(named, {
      clock: systemClock,
      logger,
      stopDeadlineMs: service.shutdownDeadlineMs,
    }),
    logger,
    drainDeadlineMs: service.drainDeadlineMs,
    // Each part has its own deadline; the whole needs room for all of them.
    stopDeadlineMs: service.shutdownDeadlineMs * named.length,
  });
}
