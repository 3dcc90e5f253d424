// An abandoned publish may still take effect. Later records must not be dropped as duplicates of it.
import { setTimeout as sleep } from "node:timers/promises";
import type { Bus } from "@isochrone/bus";
import { createKafkaBus } from "@isochrone/bus/kafka";
import { KAFKA_CLIENTS, type KafkaClientName } from "@isochrone/bus/testing";
import { systemClock, systemRandom } from "@isochrone/runtime";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { kafkaSupport, startKafka } from "../harness/kafka/index.ts";
import type { KafkaCluster } from "../harness/kafka/index.ts";

/** Well above the duration of a request that began at the end of the delivery timeout. */
const CLIENT_GIVES_UP_MS = 2_000;

const support = kafkaSupport();

describe.runIf(support.supported)("a broker that hangs while it is published to", () => {
  let kafka: KafkaCluster;

  beforeAll(async () => {
    kafka = await startKafka({ brokers: 1 });
  });

  afterAll(() => kafka?.close());

  // Tests both libraries at once, because the broker hangs for both.
  it("loses no later record to one whose outcome the client does not know", async () => {
    const runs = await Promise.all(KAFKA_CLIENTS.map(begin));
    await kafka.pause(1);
    const refusal = { status: "rejected", reason: { name: "BusError", retryable: true } };
    const givenUp = await Promise.allSettled(runs.map(({ publish }) => publish("given up")));
    expect(givenUp).toMatchObject(runs.map(() => refusal));
    // Wait until the clients have given up all their requests, too.
    await sleep(CLIENT_GIVES_UP_MS);
    kafka.resume(1);

    await Promise.all(
      runs.map(async ({ client, bus, topic, publish }) => {
        await vi.waitFor(() => publish("after"), { timeout: 10_000 });
        const seen: string[] = [];
        await bus.subscribe({
          topics: [topic],
          from: "earliest",
          onBatch: async ({ records }) => {
            seen.push(...records.map(({ value }) => Buffer.from(value).toString()));
          },
        });
        await vi.waitFor(() => expect([client, ...seen]).toContain("after"), {
          timeout: 20_000,
          interval: 50,
        });
        expect([client, seen[0]]).toEqual([client, "before"]);
        // Otherwise the broker never got the abandoned record, and the test proves nothing.
        expect([client, ...seen]).toContain("given up");
      }),
    );
  });

  interface Run {
    readonly client: KafkaClientName;
    readonly bus: Bus;
    readonly topic: string;
    readonly publish: (text: string) => Promise<void>;
  }

  async function begin(client: KafkaClientName): Promise<Run> {
    const topic = `outcome.${client}`;
    await kafka.createTopic(topic, { partitions: 1 });
    const bus = createKafkaBus({
      client,
      brokers: kafka.brokers,
      clientId: "outcome",
      clock: systemClock,
      random: systemRandom,
      requestTimeoutMs: 500,
      connectTimeoutMs: 500,
      deliveryTimeoutMs: 1_000,
    });
    onTestFinished(() => bus.close());
    const publish = (text: string): Promise<void> =>
      bus.publish(topic, [{ key: "node-a", value: Buffer.from(text), headers: {} }]);
    await vi.waitFor(() => publish("before"), { timeout: 10_000 });
    return { client, bus, topic, publish };
  }
});
