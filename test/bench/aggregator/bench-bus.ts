import type { Batch, Bus, BusRecord, OutgoingRecord, Subscription } from "@isochrone/bus";
import { partitionOf, type SubscribeOptions } from "@isochrone/bus/testing";

const PARTITIONS = 24;
const MAX_BATCH_RECORDS = 200;

interface Topic {
  readonly ends: number[];
  readonly subscribers: SubscribeOptions[];
}

/** A bus with almost no cost: hands published records to the handlers at once, in one batch per partition. */
export class BenchBus implements Bus {
  readonly #topics = new Map<string, Topic>();
  #nowMs: number;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  setTime(nowMs: number): void {
    this.#nowMs = nowMs;
  }

  async partitionCount(): Promise<number> {
    return PARTITIONS;
  }

  async subscribe(options: SubscribeOptions): Promise<Subscription> {
    for (const topic of options.topics) this.#topic(topic).subscribers.push(options);
    options.onCaughtUp?.();
    return { close: async () => undefined };
  }

  async publish(topic: string, records: readonly OutgoingRecord[]): Promise<void> {
    const { ends, subscribers } = this.#topic(topic);
    const byPartition = Map.groupBy(records, ({ key }) => partitionOf(key, PARTITIONS));
    for (const [partition, ofPartition] of byPartition) {
      const arrived = ofPartition.map((record): BusRecord => {
        return { ...record, topic, partition, offset: ends[partition]!++, appendedAtMs: this.#nowMs };
      });
      for (const subscriber of subscribers)
        for (let from = 0; from < arrived.length; from += MAX_BATCH_RECORDS)
          await subscriber.onBatch(batchOf(arrived.slice(from, from + MAX_BATCH_RECORDS), ends[partition]!));
    }
  }

  async close(): Promise<void> {}

  #topic(name: string): Topic {
    let topic = this.#topics.get(name);
    if (topic === undefined) {
      topic = { ends: Array.from({ length: PARTITIONS }, () => 0), subscribers: [] };
      this.#topics.set(name, topic);
    }
    return topic;
  }
}

function batchOf(records: readonly BusRecord[], endOffset: number): Batch {
  const { topic, partition } = records[0]!;
  return { topic, partition, records, endOffset };
}
