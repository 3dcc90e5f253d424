import { setTimeout as sleep } from "node:timers/promises";
import { createKafkaBus } from "@isochrone/bus/kafka";
import type { KafkaClientName } from "@isochrone/bus/testing";
import { systemClock, systemRandom } from "@isochrone/runtime";
import { afterAll, beforeAll, describe } from "vitest";

import { kafkaSupport, startKafka } from "../harness/kafka/index.ts";
import type { KafkaCluster } from "../harness/kafka/index.ts";
import { describeBusContract } from "./bus-contract.ts";
import type { BusCapabilities, BusContract } from "./bus/harness.ts";

const PARTITIONS = 4;
const REDELIVERY_DELAY_MS = 200;

let kafka: KafkaCluster;

const CAPABILITIES: BusCapabilities = {
  partitions: PARTITIONS,
  denseOffsets: true,
  backPressure: false,
  patienceMs: 15_000,
};

function contract(client: KafkaClientName): BusContract {
  return {
    capabilities: CAPABILITIES,
    create: async () => {
      const bus = createKafkaBus({
        client,
        brokers: kafka.brokers,
        clientId: "contract",
        clock: systemClock,
        random: systemRandom,
        redeliveryDelayMs: REDELIVERY_DELAY_MS,
        fetchWaitMs: 50,
      });
      return {
        bus,
        createTopic: (topic) => kafka.createTopic(topic, { partitions: PARTITIONS }),
        // Real time passes on its own, so only give a redelivery the chance to happen.
        pass: (ms) => sleep(Math.min(ms, 2 * REDELIVERY_DELAY_MS)),
        dispose: () => bus.close(),
      };
    },
  };
}

const support = kafkaSupport();

// A real broker for both libraries.
describe.runIf(support.supported)("Kafka", () => {
  beforeAll(async () => {
    kafka = await startKafka({ brokers: 1 });
  });
  afterAll(() => kafka.close());

  describeBusContract("platformatic", contract("platformatic"));
  describeBusContract("kafkajs", contract("kafkajs"));
});
