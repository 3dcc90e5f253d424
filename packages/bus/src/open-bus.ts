// Opens the bus of a service by the settings section `bus`. Imports the chosen adapter only: at most one
// Kafka client, and none for publishing over HTTP.
import { type ProvenSpeaker } from "@isochrone/telemetry";
import { readFileSync } from "node:fs";

import { composeServices, Secret, SettingsError } from "@isochrone/runtime";
import type { Clock, Fetch, Logger, Part, Random, Service } from "@isochrone/runtime";
import { Gauge, type Registry } from "prom-client";

import { reasonOf } from "@isochrone/primitives";
import type { KafkaBusOptions, KafkaSasl, KafkaTls } from "./adapters/kafka/index.ts";
import type { TopicDeviation } from "./adapters/kafka/topics-check.ts";
import type { MemoryBusOptions } from "./adapters/memory/memory.ts";
import type { OtlpHttpPublisherOptions } from "./adapters/otlp-http/publisher.ts";
import type { Bus, Publisher } from "./ports/port.ts";
import type { BusSettings } from "./settings.ts";

export { verifyTopics } from "./adapters/kafka/topics-check.ts";
export type { TopicDeviation } from "./adapters/kafka/topics-check.ts";
export { topicSpecs } from "./adapters/kafka/topics.ts";

interface BusSurroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

interface PublisherSurroundings extends BusSurroundings {
  /** Target of records without Kafka: `/v1/metrics` of the aggregator. */
  readonly otlpHttp: OtlpHttpPublisherOptions;
  readonly recordKey: {
    readonly aggregatorUrl: string;
    readonly speaker: ProvenSpeaker;
    readonly fetch: Fetch;
  };
}

interface AggregatorBusSurroundings extends BusSurroundings {
  readonly memory: Omit<MemoryBusOptions, "clock" | "logger">;
  /** The aggregator's window; raises the required retention of its topics. */
  readonly windowMs?: number;
  /** Topics that other publishers also write to. @default none */
  readonly foreignTopics?: readonly string[];
}

/** Closing `service` closes the bus. It starts before its users, and so stops after them. */
interface Opened<B> {
  readonly bus: B;
  readonly service: Service;
}

/** A starting replica reads one window plus the counter horizon, and may take a window's time for it. */
const WINDOWS_KEPT = 3;
/** Maximum wait of the start for the first topic check. */
const TOPICS_PATIENCE_MS = 10_000;

/** Opens the publisher of probes and collectors, without waiting for a broker. */
export async function openPublisher(
  settings: BusSettings,
  surroundings: PublisherSurroundings,
): Promise<Opened<Publisher>> {
  if (settings.kind === "kafka") {
    const { createKafkaBus } = await import("./adapters/kafka/index.ts");
    const bus = createKafkaBus(kafkaOptions(settings, surroundings));
    return settings.sealRecords ? sealing(bus, surroundings) : { bus, service: closing(() => bus.close()) };
  }
  const { OtlpHttpPublisher } = await import("./adapters/otlp-http/publisher.ts");
  return { bus: new OtlpHttpPublisher(surroundings.otlpHttp), service: closing(async () => undefined) };
}

async function sealing(
  bus: Bus,
  { recordKey, clock, random, logger }: PublisherSurroundings,
): Promise<Opened<Publisher>> {
  const { RecordKeyClient, sealedPublisher } = await import("./seal/index.ts");
  const keys = new RecordKeyClient({ ...recordKey, clock, random, logger });
  return {
    bus: sealedPublisher(bus, () => keys.current()),
    service: composeServices([
      { name: "Kafka", service: { stop: () => bus.close() } },
      { name: "record key", service: keys },
    ]),
  };
}

/** With Kafka, the service checks the topics; the start waits briefly for the first check. */
export async function openBus(
  settings: BusSettings,
  surroundings: AggregatorBusSurroundings,
): Promise<Opened<Bus>> {
  const { clock, logger, memory } = surroundings;
  if (settings.kind === "kafka") return await openKafka(settings, surroundings);
  const { createMemoryBus } = await import("./adapters/memory/memory.ts");
  const bus = createMemoryBus({ ...memory, clock, logger });
  return { bus, service: closing(() => bus.close()) };
}

/** Files are read again for each connection. Throws SettingsError for an unreadable file. */
export function kafkaOptions(
  settings: BusSettings,
  { clock, random, logger }: Pick<BusSurroundings, "clock" | "random" | "logger">,
): KafkaBusOptions {
  const { client, brokers, clientId, compression, requestTimeoutMs } = settings;
  const tls = tlsOf(settings, logger);
  const sasl = saslOf(settings, logger);
  return {
    client,
    brokers,
    clientId,
    compression,
    requestTimeoutMs,
    clock,
    random,
    logger,
    ...(tls === null ? {} : { tls }),
    ...(sasl === null ? {} : { sasl }),
  };
}

async function openKafka(
  settings: BusSettings,
  surroundings: Omit<AggregatorBusSurroundings, "memory">,
): Promise<Opened<Bus>> {
  const [{ connectKafka, createKafkaBus }, { TopicKeeper }, { topicSpecs }] = await Promise.all([
    import("./adapters/kafka/index.ts"),
    import("./adapters/kafka/topics-keeper.ts"),
    import("./adapters/kafka/topics.ts"),
  ]);
  const { clock, logger, registry, windowMs = 0, foreignTopics = [] } = surroundings;
  const options = kafkaOptions(settings, surroundings);
  const bus = createKafkaBus(options);
  const admin = await connectKafka(options);
  const inputRetentionMs = Math.max(settings.inputRetentionMs, WINDOWS_KEPT * windowMs);
  const specs = topicSpecs({ ...settings, inputRetentionMs, foreignTopics });
  const { createTopics: create } = settings;
  const onChecked = deviationsMetric(registry);
  const keeper = new TopicKeeper({ admin, specs, create, clock, logger, onChecked });
  const start = async (): Promise<void> => {
    const patience = new AbortController();
    const late = clock.sleep(TOPICS_PATIENCE_MS, patience.signal).catch(() => undefined);
    await Promise.race([keeper.start(), late]);
    patience.abort();
  };
  const parts: Part[] = [
    { name: "Kafka", service: { stop: () => bus.close() } },
    { name: "topics", service: { start, stop: () => keeper.stop() } },
    // Stops before the keeper, which may wait for an answer.
    { name: "Kafka admin", service: { stop: () => admin.close() } },
  ];
  return { bus, service: composeServices(parts) };
}

/** Exports the last check: one series per deviation, removed when it is fixed. */
function deviationsMetric(registry: Registry): (deviations: readonly TopicDeviation[]) => void {
  const gauge = new Gauge({
    name: "isochrone_kafka_topic_deviations",
    help: "1 for each setting of a Kafka topic that is not as it should be.",
    labelNames: ["topic", "setting", "severity"],
    registers: [registry],
  });
  return (deviations) => {
    gauge.reset();
    for (const { topic, setting, severity } of deviations) gauge.set({ topic, setting, severity }, 1);
  };
}

function closing(close: () => Promise<void>): Service {
  return { start: async () => undefined, stop: close };
}

function tlsOf({ tls, caFile, certFile, keyFile }: BusSettings, logger: Logger): KafkaTls | null {
  if (!tls) return null;
  const ca = caFile === null ? undefined : new LiveFile("bus.caFile", caFile, logger);
  const cert = certFile === null ? undefined : new LiveFile("bus.certFile", certFile, logger);
  const key = keyFile === null ? undefined : new LiveFile("bus.keyFile", keyFile, logger);
  return {
    get ca() {
      return ca?.content;
    },
    get cert() {
      return cert?.content;
    },
    get key() {
      return key === undefined ? undefined : new Secret(key.content);
    },
  };
}

function saslOf(
  { saslMechanism: mechanism, saslUsername: username, saslPasswordFile }: BusSettings,
  logger: Logger,
): KafkaSasl | null {
  if (mechanism === null || username === null || saslPasswordFile === null) return null;
  const file = new LiveFile("bus.saslPasswordFile", saslPasswordFile, logger);
  return {
    mechanism,
    username,
    get password() {
      return new Secret(file.content.replace(/\r?\n$/, ""));
    },
  };
}

/** A file that may be replaced. It must exist at the start; later its last content stays valid. */
class LiveFile {
  readonly #name: string;
  readonly #path: string;
  readonly #logger: Logger;
  #last: string;

  constructor(name: string, path: string, logger: Logger) {
    this.#name = name;
    this.#path = path;
    this.#logger = logger;
    this.#last = contentOf(name, path);
  }

  get content(): string {
    try {
      const content = contentOf(this.#name, this.#path);
      // An empty file is being written.
      if (content !== "") this.#last = content;
    } catch (error) {
      this.#logger.warnOnce(this.#name, "a file for Kafka can't be read; its last content stays in use", {
        error,
      });
    }
    return this.#last;
  }
}

function contentOf(name: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const reason = reasonOf(error);
    throw new SettingsError([`${name} must name a file that can be read, got ${path}: ${reason}`], error);
  }
}
