export { KafkaCluster, prepareKafka, startKafka } from "./cluster.ts";
export type { KafkaOptions } from "./cluster.ts";
export { kafkaSupport } from "./distribution.ts";
