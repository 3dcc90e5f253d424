export { BufferedPublisher, DROP_REASONS } from "./buffered-publisher.ts";
export type { BufferedPublisherOptions, DropReason } from "./buffered-publisher.ts";
export { BUS_ERROR_CODES, BusError } from "./errors.ts";
export type { BusErrorCode, BusErrorDetails } from "./errors.ts";
export { murmur2, partitionOf } from "./partitioner.ts";
export { DROPPED_HEADER } from "./port.ts";
export type {
  Batch,
  Bus,
  BusRecord,
  OutgoingRecord,
  Publisher,
  SubscribeOptions,
  Subscription,
  TopicPartition,
} from "./port.ts";
