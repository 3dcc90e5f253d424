import type { Bus } from "../../ports/port.ts";
import { KafkaBus } from "./bus.ts";
import type { KafkaClient } from "./client/client.ts";
import { resolveOptions } from "./client/options.ts";
import type { KafkaBusOptions, KafkaClientName, KafkaClientOptions } from "./client/options.ts";

export type { KafkaBusOptions, KafkaSasl, KafkaTls } from "./client/options.ts";

/** Only the chosen library is loaded. */
const LOADERS: Readonly<Record<KafkaClientName, (options: KafkaClientOptions) => Promise<KafkaClient>>> = {
  platformatic: async (options) =>
    (await import("./platformatic/platformatic.ts")).createPlatformaticClient(options),
  kafkajs: async (options) => (await import("./kafkajs/kafkajs.ts")).createKafkajsClient(options),
};

/**
 * Makes a bus on a Kafka cluster. Nothing is connected yet, and nothing needs the brokers to be there: a
 * publish without them rejects with BusError `unavailable` in a bounded time, and a subscription keeps
 * joining in the background.
 */
export function createKafkaBus(options: KafkaBusOptions): Bus {
  const resolved = resolveOptions(options);
  return new KafkaBus(resolved, () => LOADERS[options.client](resolved));
}

/**
 * A client of its own for what is no bus matter: to create and to verify topics. To be closed by the caller.
 */
export async function connectKafka(options: KafkaBusOptions): Promise<KafkaClient> {
  return await LOADERS[options.client](resolveOptions(options));
}
