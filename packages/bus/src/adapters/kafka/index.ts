import type { Bus } from "../../ports/port.ts";
import { KafkaBus } from "./bus.ts";
import type { KafkaClient } from "./client/client.ts";
import { resolveOptions } from "./client/options.ts";
import type { KafkaBusOptions, KafkaClientName, KafkaClientOptions } from "./client/options.ts";

export type { KafkaBusOptions, KafkaSasl, KafkaTls } from "./client/options.ts";

/** Loads only the chosen library. */
const LOADERS: Readonly<Record<KafkaClientName, (options: KafkaClientOptions) => Promise<KafkaClient>>> = {
  platformatic: async (options) =>
    (await import("./platformatic/platformatic.ts")).createPlatformaticClient(options),
  kafkajs: async (options) => (await import("./kafkajs/kafkajs.ts")).createKafkajsClient(options),
};

/** Doesn't connect. Without brokers, publishing rejects as `unavailable` and subscriptions keep joining. */
export function createKafkaBus(options: KafkaBusOptions): Bus {
  const resolved = resolveOptions(options);
  return new KafkaBus(resolved, () => LOADERS[options.client](resolved));
}

/** Creates a client for topic administration. The caller closes it. */
export async function connectKafka(options: KafkaBusOptions): Promise<KafkaClient> {
  return await LOADERS[options.client](resolveOptions(options));
}
