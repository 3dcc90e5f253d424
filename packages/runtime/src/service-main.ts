// Common part of all service processes: settings, log, tracing, and running until a signal.
import type { Registry } from "prom-client";
import type { Clock, Random } from "./clock.ts";
import { countBuffersAsHeap, hasHeapLimit, keepHeapDense, keepHeapSmall } from "./garbage.ts";
import { composeServices } from "./lifecycle/compose.ts";
import { runService } from "./lifecycle/run-service.ts";
import { createLogger } from "./log/create-logger.ts";
import type { Logger } from "./log.ts";
import { createRegistry } from "./metrics.ts";
import { SettingsError } from "./errors.ts";
import type { Part } from "./service.ts";
import { loadSettings } from "./settings/load.ts";
import { testConstants } from "./settings/test-constants.ts";
import type { Section, SettingsOf } from "./settings/section.ts";
import { serviceSettings } from "./settings/service-settings.ts";
import { systemClock, systemRandom } from "./system.ts";
import { startTracing, tracingEndpoint } from "./tracing.ts";

interface ProcessSurroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

type SharedSections = Readonly<Record<string, Section>>;

interface ServiceMainOptions<S extends Section, Shared extends SharedSections> {
  /** `service.name` without the prefix `isochrone-`. */
  readonly name: string;
  readonly section: S;
  /** Further sections, passed to `create` as its third argument. @default none */
  readonly shared?: Shared;
  /** Keeps hundreds of megabytes, so collections should be few. @default false */
  readonly keepsMuch?: boolean;
  /** Runs on every node and computes little, so memory is its cost. @default false */
  readonly isLean?: boolean;
  /** Usually process.env. ISOCHRONE_CONFIG names the settings file, which services may share. */
  readonly env: Readonly<Record<string, string | undefined>>;
  create(
    config: SettingsOf<S>,
    surroundings: ProcessSurroundings,
    shared: { readonly [K in keyof Shared]: SettingsOf<Shared[K]> },
  ): Promise<readonly Part[]> | readonly Part[];
}

const START_DEADLINE_MS = 30_000;

const ALL_SECTIONS = [
  "client",
  "probe",
  "collector",
  "aggregator",
  "scheduler",
  "bus",
  "annotations",
  "kubernetes",
  "access",
  "certificates",
  "extenderCertificates",
  "networkTopology",
  "appGroups",
  "bandwidthResource",
  "webhook",
  "planner",
  "gates",
  "descheduler",
  "flows",
  "streams",
  "dispatch",
  "dispatcher",
];

/** Body of main.ts. Exits with 0 after a clean stop, else 1. Prints invalid settings without a stack. */
export async function serviceMain<S extends Section, Shared extends SharedSections = SharedSections>(
  options: ServiceMainOptions<S, Shared>,
): Promise<void> {
  try {
    await run(options);
  } catch (error) {
    const text = error instanceof SettingsError ? error.message : stackOf(error);
    process.stderr.write(`${text}\n`);
    process.exitCode = 1;
  }
}

function stackOf(error: unknown): string {
  return (error instanceof Error ? error.stack : undefined) ?? String(error);
}

async function run<S extends Section, Shared extends SharedSections>(
  options: ServiceMainOptions<S, Shared>,
): Promise<void> {
  const { name, section, env, keepsMuch = false, isLean = false } = options;
  if (isLean) keepHeapSmall();
  if (keepsMuch) countBuffersAsHeap();
  if (keepsMuch && hasHeapLimit(env)) keepHeapDense();
  const sharedSections = Object.entries(options.shared ?? {});
  const sections = [serviceSettings, section, ...sharedSections.map(([, shared]) => shared)];
  const removed: string[] = [];
  const loaded = loadSettings(sections, {
    env,
    file: env["ISOCHRONE_CONFIG"],
    overrides: testConstants(sections.map((known) => known.name)),
    onRemoved: (sentence) => removed.push(sentence),
    ignoreSections: ALL_SECTIONS.filter((other) => !sections.some((known) => known.name === other)),
  }) as Readonly<Record<string, unknown>>;
  const service = loaded["service"] as SettingsOf<typeof serviceSettings>;
  const config = loaded[section.name] as SettingsOf<S>;
  const shared = Object.fromEntries(sharedSections.map(([key, { name: of }]) => [key, loaded[of]]));
  const logger = createLogger({ service: name, level: service.logLevel, format: service.logFormat });
  for (const sentence of removed) logger.warn("no setting any more", { setting: sentence });
  const tracing = await startTracing({
    serviceName: `isochrone-${name}`,
    endpoint: tracingEndpoint(service.otlpEndpoint, env),
  });
  const registry = createRegistry({ processMetrics: true });
  const parts = await options.create(
    config,
    { clock: systemClock, random: systemRandom, logger, registry },
    shared as { readonly [K in keyof Shared]: SettingsOf<Shared[K]> },
  );
  const stopMs = service.shutdownDeadlineMs;
  const composed = composeServices([{ name: "tracing", service: { stop: () => tracing.stop() } }, ...parts], {
    logger,
    deadlines: { clock: systemClock, startMs: START_DEADLINE_MS, stopMs },
  });
  await runService({
    service: composed,
    logger,
    drainDeadlineMs: service.drainDeadlineMs,
    // Each part has its own deadline, so the total must fit all.
    stopDeadlineMs: stopMs * composed.parts.length,
  });
}
