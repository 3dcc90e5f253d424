// Helpers for tests of other packages.
export type { KafkaClient } from "../adapters/kafka/client/client.ts";
export { KAFKA_CLIENTS, type KafkaClientName } from "../adapters/kafka/client/options.ts";
export type { MemoryBus } from "../adapters/memory/memory.ts";
export { ensureTopics, type TopicReport } from "../adapters/kafka/topics-check.ts";
export type { TopicChoices, TopicSpec } from "../adapters/kafka/topics.ts";
export { OtlpHttpPublisher } from "../adapters/otlp-http/publisher.ts";
export { MAC_HEADER } from "../seal/record-mac.ts";
export { sealRecord } from "../seal/sealed-bus.ts";
export { partitionOf } from "../ports/partitioner.ts";
export type { SubscribeOptions } from "../ports/port.ts";
