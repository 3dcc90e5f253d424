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
/** Brokers assign a group at most once per second, which every one of these tests would wait for. */
const QUICK_ASSIGNMENT = {
  "group.consumer.min.assignment.interval.ms": 0,
  "group.consumer.assignment.interval.ms": 0,
};

let kafka: KafkaCluster;

const CAPABILITIES: BusCapabilities = {
  partitions: PARTITIONS,
  denseOffsets: true,
  backPressure: false,
  cooperativeHandOver: true,
  awaitsRevocation: true,
  patienceMs: 15_000,
};

function contract(client: KafkaClientName, capabilities: BusCapabilities): BusContract {
  return {
    capabilities,
    create: async () => {
      const bus = createKafkaBus({
        client,
        brokers: kafka.brokers,
        clientId: "contract",
        clock: systemClock,
        random: systemRandom,
        redeliveryDelayMs: REDELIVERY_DELAY_MS,
        heartbeatIntervalMs: 200,
        sessionTimeoutMs: 6_000,
        fetchWaitMs: 50,
      });
      return {
        bus,
        createTopic: (topic) => kafka.createTopic(topic, { partitions: PARTITIONS }),
        // Real time passes by itself: only a redelivery has to be given the chance.
        pass: (ms) => sleep(Math.min(ms, 2 * REDELIVERY_DELAY_MS)),
        dispose: () => bus.close(),
      };
    },
  };
}

const support = kafkaSupport();

// A real broker, one for both libraries.
describe.runIf(support.supported)("Kafka", () => {
  beforeAll(async () => {
    kafka = await startKafka({ brokers: 1, properties: QUICK_ASSIGNMENT });
  });
  afterAll(() => kafka.close());

  describeBusContract("platformatic", contract("platformatic", CAPABILITIES));
  // Its groups are of the classic protocol, where a change takes everything from everybody for a moment.
  describeBusContract("kafkajs", contract("kafkajs", { ...CAPABILITIES, cooperativeHandOver: false }));
});
