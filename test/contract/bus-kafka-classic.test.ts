// A broker without the group protocol of Kafka 4.0: here one of today with it switched off.
import type { Bus, BusRecord } from "@isochrone/bus";
import { createKafkaBus } from "@isochrone/bus/kafka";
import type { KafkaBusOptions } from "@isochrone/bus/kafka";
import type { KafkaClientName } from "@isochrone/bus/testing";
import { systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";

import { kafkaSupport, startKafka } from "../harness/kafka/index.ts";
import type { KafkaCluster } from "../harness/kafka/index.ts";
import { record, textOf } from "./bus/harness.ts";

const TOPIC = "classic";
const GROUP = "classic-readers";

let kafka: KafkaCluster;

const support = kafkaSupport();

describe.runIf(support.supported)("a broker without the group protocol of Kafka 4.0", () => {
  beforeAll(async () => {
    const properties = { "group.coordinator.rebalance.protocols": "classic" };
    kafka = await startKafka({ brokers: 1, heapMegabytes: 128, properties });
    await kafka.createTopic(TOPIC);
  });
  afterAll(() => kafka?.close());

  it("is published to by platformatic, which says what it needs to subscribe", async () => {
    const logger = new MemoryLogger();
    const bus = open("platformatic", { logger, joinTimeoutMs: 1_000 });
    await collect(bus, "earliest");
    await bus.publish(TOPIC, [record("node-a", "by platformatic")]);
    const [problem] = logger.lines.map(({ fields }) => fields["error"]);
    expect(problem).toMatchObject({
      code: "rejected",
      message: expect.stringMatching(`${GROUP} needs brokers of Kafka 4.0 .* choose the client kafkajs`),
    });
  });

  it("is published to and subscribed to by kafkajs", async () => {
    const bus = open("kafkajs");
    const seen = await collect(bus, "latest");
    await bus.publish(TOPIC, [record("node-a", "by kafkajs")]);
    await vi.waitFor(() => expect(seen.map(textOf)).toEqual(["by kafkajs"]), {
      timeout: 20_000,
      interval: 20,
    });
  });
});

function open(client: KafkaClientName, options: Partial<KafkaBusOptions> = {}): Bus {
  const bus = createKafkaBus({
    client,
    brokers: kafka.brokers,
    clientId: "classic",
    clock: systemClock,
    random: systemRandom,
    ...options,
  });
  onTestFinished(() => bus.close());
  return bus;
}

async function collect(bus: Bus, from: "earliest" | "latest"): Promise<BusRecord[]> {
  const seen: BusRecord[] = [];
  const onBatch = async ({ records }: { readonly records: readonly BusRecord[] }): Promise<void> =>
    void seen.push(...records);
  await bus.subscribe({ topics: [TOPIC], group: GROUP, from, onBatch });
  return seen;
}
