export { BufferedPublisher } from "./buffered-publisher.ts";
export { BusError } from "./ports/errors.ts";
export type {
  Batch,
  Bus,
  BusRecord,
  OutgoingRecord,
  Publisher,
  Subscription,
  TopicPartition,
} from "./ports/port.ts";
