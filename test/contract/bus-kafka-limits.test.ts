// Faults that only a broker can cause: absence, retention, partitions, and records of other programs.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Bus, BusRecord } from "@isochrone/bus";
import { createKafkaBus } from "@isochrone/bus/kafka";
import type { KafkaBusOptions } from "@isochrone/bus/kafka";
import type { KafkaClientName, SubscribeOptions } from "@isochrone/bus/testing";
import { systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { Admin, Consumer, Producer } from "@platformatic/kafka";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";

import { kafkaSupport, startKafka } from "../harness/kafka/index.ts";
import type { KafkaCluster } from "../harness/kafka/index.ts";
import { numbered, record, textOf } from "./bus/harness.ts";

const MEBIBYTE = 1024 * 1024;
const PATIENCE = { timeout: 50_000, interval: 20 };

let kafka: KafkaCluster;

const support = kafkaSupport();

describe.runIf(support.supported)("a real broker", () => {
  beforeAll(async () => {
    kafka = await startKafka({ brokers: 1 });
  });
  afterAll(() => kafka.close());

  describe.each<KafkaClientName>(["platformatic", "kafkajs"])("with %s", (client) => {
    it("may be away when one service starts and another ends, and come later", async () => {
      const topic = await newTopic(client, 2);
      const early = open(client);
      await subscribe(early, topic);
      await kafka.kill(1);
      const bus = open(client, { deliveryTimeoutMs: 3_000, joinTimeoutMs: 1_000, connectTimeoutMs: 1_000 });
      const refused = bus.publish(topic, [record("node-a", "lost")]);
      await expect(refused).rejects.toMatchObject({ name: "BusError", code: "unavailable", retryable: true });
      // Both continue without the broker, which restarts only after they have.
      const seen = await subscribe(bus, topic);
      await early.close();
      await kafka.restart(1);
      await vi.waitFor(async () => {
        await bus.publish(topic, [record("node-a", "again")]);
        expect(seen.map(textOf)).toContain("again");
      }, PATIENCE);
    });

    it("refuses a record that is too large, and only that", async () => {
      const topic = await newTopic(client, 1);
      const bus = open(client);
      const seen = await subscribe(bus, topic);
      const large = { key: "node-a", value: randomBytes(MEBIBYTE + 1_000), headers: {} };
      const huge = { key: "node-a", value: Buffer.alloc(3 * MEBIBYTE), headers: {} };
      const outcomes = await Promise.allSettled(
        [record("node-a", "before"), large, record("node-a", "after"), huge].map((one) =>
          bus.publish(topic, [one]),
        ),
      );
      const tooLarge = { status: "rejected", reason: { code: "too_large", retryable: false } };
      expect(outcomes).toMatchObject([{ status: "fulfilled" }, tooLarge, { status: "fulfilled" }, tooLarge]);
      await vi.waitFor(() => expect(seen.map(textOf)).toEqual(["before", "after"]), PATIENCE);
    });

    it("takes many large records at once, in batches that it accepts", async () => {
      const topic = await newTopic(client, 1);
      const bus = open(client);
      const values = Array.from({ length: 8 }, () => randomBytes(700_000));
      await bus.publish(
        topic,
        values.map((value) => ({ key: "node-a", value, headers: {} })),
      );
      const seen = await subscribe(bus, topic);
      await vi.waitFor(() => expect(seen).toHaveLength(8), PATIENCE);
      for (const [i, { value }] of seen.entries()) expect(Buffer.compare(value, values[i]!)).toBe(0);
    });

    it("has forgotten the oldest records: a subscriber from the beginning or a time begins after them", async () => {
      const topic = await newTopic(client, 1);
      const bus = open(client);
      await bus.publish(
        topic,
        numbered(11).map((text) => record("node-a", text)),
      );
      await deleteRecords(topic, 7n);
      const all = await subscribe(bus, topic);
      const since = await subscribe(bus, topic, { from: { sinceMs: 1_000 } });
      for (const seen of [all, since])
        await vi.waitFor(() => expect(seen.map(({ offset }) => offset)).toEqual([7, 8, 9, 10]), PATIENCE);
    });

    it("tells its own append time, not the publisher's", async () => {
      const topic = await newTopic(client, 1, { "message.timestamp.type": "LogAppendTime" });
      await publishForeign(topic, { key: Buffer.from("k"), value: Buffer.from("v"), timestamp: 1_000n });
      const seen = await subscribe(open(client), topic);
      await vi.waitFor(() => expect(seen).toHaveLength(1), PATIENCE);
      expect(Math.abs(seen[0]!.appendedAtMs - Date.now())).toBeLessThan(30_000);
    });

    it("carries what others wrote: without a key, without a value, with bytes for headers", async () => {
      const topic = await newTopic(client, 1);
      const headers = new Map([[Buffer.from("blob"), Buffer.from([0xff, 0x00])]]);
      await publishForeign(topic, { value: Buffer.from("v") });
      await publishForeign(topic, { key: Buffer.from("k"), headers });
      const seen = await subscribe(open(client), topic);
      await vi.waitFor(() => expect(seen).toHaveLength(2), PATIENCE);
      expect(seen[0]).toMatchObject({ key: "", headers: {} });
      expect(textOf(seen[0]!)).toBe("v");
      expect(seen[1]).toMatchObject({ key: "k", headers: { blob: "\ufffd\u0000" } });
      expect(seen[1]!.value.byteLength).toBe(0);
    });

    it("stores an empty value as null, by which a compacted topic forgets the key", async () => {
      const topic = await newTopic(client, 1, { "cleanup.policy": "compact" });
      const records = [record("kept", "value"), record("gone", "value"), record("gone", "")];
      await open(client).publish(topic, records);
      expect(await rawValues(topic, 3)).toEqual([
        ["kept", "value"],
        ["gone", "value"],
        ["gone", null],
      ]);
    });

    it("passes over a batch that was made to exhaust memory, says so, and goes on", async () => {
      const topic = await newTopic(client, 1);
      await publishForeign(topic, { value: Buffer.alloc(80 * MEBIBYTE) });
      await publishForeign(topic, { value: Buffer.from("next") });
      const logger = new MemoryLogger();
      const seen = await subscribe(open(client, { logger }), topic);
      await vi.waitFor(() => expect(seen.map(textOf)).toEqual(["next"]), PATIENCE);
      expect(logger.lines.map(({ fields }) => fields["error"])).toContainEqual(
        expect.objectContaining({ code: "rejected", message: expect.stringContaining(`${topic}/0`) }),
      );
    });

    it("gets a topic that a subscriber waits for, which then reads all of it and what else it reads on", async () => {
      const topic = await newTopic(client, 1);
      const missing = `${topic}.later`;
      const bus = open(client);
      const seen = await subscribe(bus, topic, { topics: [topic, missing], from: "latest" });
      await bus.publish(topic, [record("node-a", "meanwhile")]);
      await vi.waitFor(() => expect(seen.map(textOf)).toEqual(["meanwhile"]), PATIENCE);
      await kafka.createTopic(missing, { partitions: 1 });
      await vi.waitFor(async () => {
        await bus.publish(missing, [record("node-a", "first")]);
      }, PATIENCE);
      await vi.waitFor(() => expect(seen.map(textOf)).toEqual(["meanwhile", "first"]), PATIENCE);
    });

    it.each([
      ["as large as they look", "none", randomBytes(500_000)],
      ["much larger than they look", "zstd", Buffer.alloc(500_000)],
    ] as const)(
      "is not asked for more than fits while the handlers are slow: records %s",
      async (_what, compression, value) => {
        const topic = await newTopic(client, 4);
        const bus = open(client, { compression, maxBufferedBytes: 8 * MEBIBYTE });
        for (let i = 0; i < 30; i += 1)
          await bus.publish(
            topic,
            numbered(4).map((text) => ({ key: `node-${text}`, value, headers: {} })),
          );
        const gate = Promise.withResolvers<void>();
        let bytes = 0;
        const before = heldBytes();
        await subscribe(bus, topic, {
          maxBatchBytes: 4 * MEBIBYTE,
          onBatch: async ({ records }) => {
            await gate.promise;
            for (const { value } of records) bytes += value.byteLength;
          },
        });
        await sleep(1_500);
        // Out of 60 MB: batches in flight, buffers, and the last fetch of each partition.
        expect(heldBytes() - before).toBeLessThan(32 * MEBIBYTE);
        gate.resolve();
        await vi.waitFor(() => expect(bytes).toBe(120 * 500_000), PATIENCE);
      },
    );

    it("is not waited for by more publishers than the bounds allow", async () => {
      const topic = await newTopic(client, 1);
      const bus = open(client, { maxPendingBytes: MEBIBYTE });
      await bus.publish(topic, [record("node-a", "first")]);
      const value = new Uint8Array(400_000);
      const outcomes = await Promise.allSettled(
        numbered(5).map((key) => bus.publish(topic, [{ key, value, headers: {} }])),
      );
      const refused = outcomes.filter(({ status }) => status === "rejected");
      expect(refused).toHaveLength(3);
      expect(refused[0]).toMatchObject({ reason: { code: "overloaded", retryable: true } });
    });
  });
});

let serial = 0;

async function newTopic(
  client: string,
  partitions: number,
  configs: Record<string, string> = {},
): Promise<string> {
  serial += 1;
  const topic = `limits.${client}.${serial}`;
  await kafka.createTopic(topic, { partitions, configs });
  return topic;
}

function open(client: KafkaClientName, options: Partial<KafkaBusOptions> = {}): Bus {
  const bus = createKafkaBus({
    client,
    brokers: kafka.brokers,
    clientId: "limits",
    clock: systemClock,
    random: systemRandom,
    redeliveryDelayMs: 200,
    retryMaxMs: 500,
    fetchWaitMs: 50,
    ...options,
  });
  onTestFinished(() => bus.close());
  return bus;
}

async function subscribe(
  bus: Bus,
  topic: string,
  options: Partial<SubscribeOptions> = {},
): Promise<BusRecord[]> {
  const seen: BusRecord[] = [];
  await bus.subscribe({
    topics: [topic],
    from: "earliest",
    onBatch: async (batch) => {
      seen.push(...batch.records);
    },
    ...options,
  });
  return seen;
}

function heldBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().arrayBuffers;
}

interface Foreign {
  readonly key?: Buffer;
  readonly value?: Buffer;
  readonly headers?: Map<Buffer, Buffer>;
  readonly timestamp?: bigint;
}

async function publishForeign(topic: string, message: Foreign): Promise<void> {
  const producer = new Producer({ clientId: "foreign", bootstrapBrokers: [...kafka.internalBrokers] });
  try {
    await producer.send({ compression: "zstd", messages: [{ topic, partition: 0, ...message }] });
  } finally {
    await producer.close();
  }
}

/** Keys and values as another program's client reads them, without our code. */
async function rawValues(topic: string, count: number): Promise<(readonly [string, string | null])[]> {
  const consumer = new Consumer({
    clientId: "raw",
    groupId: `${topic}.raw`,
    bootstrapBrokers: [...kafka.internalBrokers],
    maxWaitTime: 100,
  });
  const found: (readonly [string, string | null])[] = [];
  const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false });
  for await (const { key, value } of stream) {
    // The library's types know no tombstone.
    found.push([key.toString(), (value as Buffer | null)?.toString() ?? null]);
    if (found.length === count) break;
  }
  await consumer.close(true);
  return found;
}

async function asAdmin<T>(ask: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Admin({ clientId: "admin", bootstrapBrokers: [...kafka.internalBrokers] });
  try {
    return await ask(admin);
  } finally {
    await admin.close();
  }
}

async function deleteRecords(topic: string, offset: bigint): Promise<void> {
  await asAdmin((admin) =>
    admin.deleteRecords({ topics: [{ name: topic, partitions: [{ partition: 0, offset }] }] }),
  );
}
