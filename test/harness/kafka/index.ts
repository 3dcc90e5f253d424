export { KafkaCluster, prepareKafka, startKafka } from "./cluster.ts";
export type { KafkaAccess, KafkaOptions } from "./cluster.ts";
export type { AclOperation, AclResource, TopicOptions } from "./admin.ts";
export type { SpawnBroker } from "./broker.ts";
export { KAFKA_VERSION, kafkaSupport } from "./distribution.ts";
export type { Support } from "../common/support.ts";
