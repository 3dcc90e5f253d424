export type { Batch, Bus, BusRecord, OutgoingRecord, Publisher, SubscribeOptions, Subscription, TopicPartition } from "./port.ts";
