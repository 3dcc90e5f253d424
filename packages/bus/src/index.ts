export { BufferedPublisher } from "./buffered-publisher.ts";
export { BusError } from "./ports/errors.ts";
export { partitionOf } from "./ports/partitioner.ts";
export type {
  Batch,
  Bus,
  BusRecord,
  OutgoingRecord,
  Publisher,
  ReadFrom,
  SubscribeOptions,
  Subscription,
  TopicPartition,
} from "./ports/port.ts";
