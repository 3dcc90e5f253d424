import { pause } from "@isochrone/runtime";

import { BusError } from "../../ports/errors.ts";
import { partitionOf } from "../../ports/partitioner.ts";
import type { Bus, OutgoingRecord, SubscribeOptions, Subscription } from "../../ports/port.ts";
import { MAX_RECORD_BYTES } from "./client/client.ts";
import type { KafkaClient, KafkaRecord } from "./client/client.ts";
import type { KafkaClientOptions } from "./client/options.ts";
import { PublishLane } from "./publish-lane.ts";
import type { Part } from "./publish-lane.ts";
import { partitionKey, sizeOf, toKafka } from "./client/records.ts";
import { KafkaSubscription } from "./subscription.ts";
import { TopicPartitions } from "./topic-partitions.ts";

/** Bytes for key and headers. The broker checks whether the compressed batch fits. */
const KEY_AND_HEADERS_BYTES = 64 * 1024;
const CLOSE_GRACE_MS = 2_000;

interface Lane {
  readonly lane: PublishLane;
  readonly part: Part;
}

export class KafkaBus implements Bus {
  readonly #options: KafkaClientOptions;
  readonly #connect: () => Promise<KafkaClient>;
  #client: Promise<{ readonly client: KafkaClient; readonly partitions: TopicPartitions }> | null = null;
  readonly #lanes = new Map<string, PublishLane>();
  readonly #subscriptions = new Set<KafkaSubscription>();
  #pendingBytes = 0;
  #closing: Promise<void> | null = null;

  constructor(options: KafkaClientOptions, connect: () => Promise<KafkaClient>) {
    this.#options = options;
    this.#connect = connect;
  }

  async publish(
    topic: string,
    records: readonly OutgoingRecord[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    const { signal } = options;
    if (this.#closing) throw closedError();
    if (signal?.aborted) throw abortedError(signal);
    if (records.length === 0) return;
    const outgoing = records.map(toKafka);
    const bytes = this.#admit(topic, outgoing);
    try {
      await this.#withinBounds(topic, signal, (given) => this.#send(topic, records, outgoing, given));
    } finally {
      this.#pendingBytes -= bytes;
    }
  }

  async partitionCount(topic: string): Promise<number> {
    if (this.#closing) throw closedError();
    const { partitions } = await this.#connected();
    return await partitions.count(topic);
  }

  async subscribe(options: SubscribeOptions): Promise<Subscription> {
    if (this.#closing) throw closedError();
    const subscription = new KafkaSubscription(options, this.#options, (closed) =>
      this.#subscriptions.delete(closed),
    );
    this.#subscriptions.add(subscription);
    const { client } = await this.#connected();
    await subscription.start(client);
    if (this.#closing) throw closedError();
    return subscription;
  }

  async close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    await this.#closing;
  }

  async #shutDown(): Promise<void> {
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    const settled = Promise.all([...this.#lanes.values()].map((lane) => lane.close(closedError())));
    const grace = new AbortController();
    await Promise.race([settled, pause(this.#options.clock, CLOSE_GRACE_MS, grace.signal)]);
    grace.abort();
    if (this.#client !== null) await (await this.#client).client.close();
  }

  #connected(): Promise<{ readonly client: KafkaClient; readonly partitions: TopicPartitions }> {
    this.#client ??= this.#connect().then((client) => ({
      client,
      partitions: new TopicPartitions(client, this.#options),
    }));
    return this.#client;
  }

  #admit(topic: string, records: readonly KafkaRecord[]): number {
    const { maxPendingBytes } = this.#options;
    let bytes = 0;
    for (const record of records) {
      const recordBytes = sizeOf(record);
      if (recordBytes > MAX_RECORD_BYTES + KEY_AND_HEADERS_BYTES) {
        throw new BusError(
          "too_large",
          `a record for ${topic} must be at most ${MAX_RECORD_BYTES} bytes, got ${recordBytes}`,
        );
      }
      bytes += recordBytes;
    }
    if (this.#pendingBytes > 0 && this.#pendingBytes + bytes > maxPendingBytes) {
      throw new BusError(
        "overloaded",
        `what waits to be published must be at most ${maxPendingBytes} bytes, would be ${this.#pendingBytes + bytes}`,
      );
    }
    this.#pendingBytes += bytes;
    return bytes;
  }

  /** `given` receives lane and part, so that the caller can withdraw the part. */
  async #send(
    topic: string,
    records: readonly OutgoingRecord[],
    outgoing: readonly KafkaRecord[],
    given: Lane[],
  ): Promise<void> {
    const { client, partitions } = await this.#connected();
    const count = await partitions.count(topic);
    if (this.#closing) throw closedError();
    const parts = new Map<number, KafkaRecord[]>();
    for (const [i, record] of outgoing.entries()) {
      const partition = partitionOf(records[i]?.key ?? "", count);
      const part = parts.get(partition);
      if (part) part.push(record);
      else parts.set(partition, [record]);
    }
    for (const [partition, records] of parts) {
      const lane = this.#laneTo(client, topic, partition);
      const bytes = records.reduce((sum, record) => sum + sizeOf(record), 0);
      const part = { records, bytes, done: Promise.withResolvers<void>() };
      given.push({ lane, part });
      lane.push(part);
    }
    const settled = await Promise.allSettled(given.map(({ part }) => part.done.promise));
    const failed = settled.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }

  #laneTo(client: KafkaClient, topic: string, partition: number): PublishLane {
    const key = partitionKey({ topic, partition });
    const known = this.#lanes.get(key);
    if (known) return known;
    const lane = new PublishLane((records) => client.produce({ topic, partition }, records));
    this.#lanes.set(key, lane);
    return lane;
  }

  /** Waits for the send, the caller's abort signal or the delivery timeout, whichever is first. */
  async #withinBounds(
    topic: string,
    signal: AbortSignal | undefined,
    send: (given: Lane[]) => Promise<void>,
  ): Promise<void> {
    const { clock, deliveryTimeoutMs } = this.#options;
    const given: Lane[] = [];
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const settled = new AbortController();
    const onAbort = (): void => reject(abortedError(signal));
    signal?.addEventListener("abort", onAbort, { once: true });
    void pause(clock, deliveryTimeoutMs, settled.signal).then(() =>
      reject(
        new BusError(
          "unavailable",
          `publishing to ${topic} was not acknowledged within ${deliveryTimeoutMs} ms`,
        ),
      ),
    );
    try {
      await Promise.race([send(given), ended]);
    } finally {
      settled.abort();
      signal?.removeEventListener("abort", onAbort);
      for (const { lane, part } of given) lane.withdraw(part);
    }
  }
}

function closedError(): BusError {
  return new BusError("closed", "the Kafka bus is closed");
}

function abortedError(signal: AbortSignal | undefined): BusError {
  return new BusError("aborted", "publishing was aborted by the caller", { cause: signal?.reason });
}
