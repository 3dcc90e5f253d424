export { BufferedPublisher } from "./buffered-publisher.ts";
export type { BufferedPublisherOptions } from "./buffered-publisher.ts";
export { DROP_REASONS } from "./send-queue.ts";
export type { DropReason, RecordCounts } from "./send-queue.ts";
export { BUS_ERROR_CODES, BusError } from "./ports/errors.ts";
export type { BusErrorCode, BusErrorDetails } from "./ports/errors.ts";
export { murmur2, partitionOf } from "./ports/partitioner.ts";
export { DROPPED_HEADER } from "./ports/port.ts";
export type {
  Batch,
  Bus,
  BusRecord,
  OutgoingRecord,
  Publisher,
  SubscribeOptions,
  Subscription,
  TopicPartition,
} from "./ports/port.ts";
