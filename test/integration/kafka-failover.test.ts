// Records while brokers die: a real cluster of three whose nodes are killed in turn.
import { setTimeout as sleep } from "node:timers/promises";
import { BusError } from "@isochrone/bus";
import type { Bus, BusRecord } from "@isochrone/bus";
import { createKafkaBus } from "@isochrone/bus/kafka";
import type { KafkaBusOptions } from "@isochrone/bus/kafka";
import { KAFKA_CLIENTS, type KafkaClientName } from "@isochrone/bus/testing";
import { systemClock, systemRandom } from "@isochrone/runtime";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";

import { kafkaSupport, startKafka } from "../harness/kafka/index.ts";
import type { KafkaCluster } from "../harness/kafka/index.ts";

const NODES = [1, 2, 3];
const PARTITIONS = 6;
const KEYS = 12;
const RECORDS_PER_PUBLISH = 5;
/** Longer than the 3 s after which the controllers replace a dead broker as leader. */
const LEADERLESS_MS = 20_000;
const SOON = { timeout: LEADERLESS_MS, interval: 50 };

let kafka: KafkaCluster;

const support = kafkaSupport();

describe.runIf(support.supported)("Kafka brokers that die", () => {
  beforeAll(async () => {
    kafka = await startKafka({ brokers: 3 });
  });
  afterAll(() => kafka.close());

  // Tests both libraries at once, because the brokers die for both.
  it("lose no acknowledged record, keep the order of each key, and do not end delivery", async () => {
    const runs = await forEachClient((client) => Run.begin(client, "failover"));
    await forAll(runs, async ({ read, published }) => {
      published.start();
      await vi.waitFor(() => expect(read.lastSeen.size).toBe(KEYS), SOON);
    });

    for (const node of NODES) {
      await kafka.kill(node);
      await forAll(runs, async ({ client, read }) => {
        const before = new Map(read.lastSeen);
        const stuck = (): string[] =>
          [...before].filter(([key, last]) => read.lastSeen.get(key) === last).map(([key]) => key);
        await vi.waitFor(() => expect([client, node, stuck()]).toEqual([client, node, []]), SOON);
      });
      await kafka.restart(node);
    }
    await forAll(runs, ({ published }) => published.stop());

    await forAll(runs, async ({ client, read, published }) => {
      await vi.waitFor(() => expect([client, published.missingFrom(read)]).toEqual([client, []]), SOON);
      for (const numbers of read.firstSeen.values())
        expect([client, numbers]).toEqual([client, numbers.toSorted((a, b) => a - b)]);
      expect(published.acknowledged).toBeGreaterThan(1_000);
    });
  }, 150_000);

  it("too many at once: publishing is refused for now, within its time, and goes on when they are back", async () => {
    const runs = await forEachClient((client) => Run.begin(client, "outage", { deliveryTimeoutMs: 3_000 }));
    await forAll(runs, ({ bus, topic }) => bus.publish(topic, [record("key-0", 0)]));

    await Promise.all([kafka.kill(2), kafka.kill(3)]);
    await forAll(runs, async ({ bus, topic }) => {
      const beganMs = performance.now();
      const refusal = await bus.publish(topic, [record("key-0", 1)]).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ name: "BusError", retryable: true });
      expect(performance.now() - beganMs).toBeLessThan(5_000);
    });
    await Promise.all([kafka.restart(2), kafka.restart(3)]);

    await forAll(runs, async ({ read, published }) => {
      await published.insist(record("key-0", 2));
      await vi.waitFor(() => expect(read.firstSeen.get("key-0")).toContain(2), SOON);
    });
  }, 90_000);
});

class Run {
  readonly client: KafkaClientName;
  readonly topic: string;
  readonly bus: Bus;
  readonly read = new Reader();
  readonly published: Publisher;

  private constructor(client: KafkaClientName, topic: string, options: Partial<KafkaBusOptions>) {
    this.client = client;
    this.topic = topic;
    this.bus = open(client, options);
    this.published = new Publisher(this.bus, topic);
  }

  static async begin(
    client: KafkaClientName,
    name: string,
    options: Partial<KafkaBusOptions> = {},
  ): Promise<Run> {
    const run = new Run(client, `${name}.${client}`, options);
    await kafka.createTopic(run.topic, { partitions: PARTITIONS });
    await run.read.subscribe(run.bus, run.topic);
    return run;
  }
}

function forEachClient<T>(make: (client: KafkaClientName) => Promise<T>): Promise<T[]> {
  return Promise.all(KAFKA_CLIENTS.map(make));
}

async function forAll(runs: readonly Run[], each: (run: Run) => Promise<void>): Promise<void> {
  await Promise.all(runs.map(each));
}

function open(client: KafkaClientName, options: Partial<KafkaBusOptions> = {}): Bus {
  const bus = createKafkaBus({
    client,
    brokers: kafka.brokers,
    clientId: "failover",
    clock: systemClock,
    random: systemRandom,
    connectTimeoutMs: 1_500,
    requestTimeoutMs: 3_000,
    retryMaxMs: 500,
    ...options,
  });
  onTestFinished(() => bus.close());
  return bus;
}

function record(
  key: string,
  number: number,
): { key: string; value: Uint8Array; headers: Record<string, string> } {
  return { key, value: Buffer.from(String(number)), headers: {} };
}

class Reader {
  /** Numbers in order of first arrival, by key. */
  readonly firstSeen = new Map<string, number[]>();
  readonly #seen = new Set<number>();
  readonly lastSeen = new Map<string, number>();

  has(number: number): boolean {
    return this.#seen.has(number);
  }

  async subscribe(bus: Bus, topic: string): Promise<void> {
    await bus.subscribe({
      topics: [topic],
      from: "earliest",
      onBatch: async (batch) => {
        for (const one of batch.records) this.#note(one);
      },
    });
  }

  #note({ key, value }: BusRecord): void {
    const number = Number(Buffer.from(value).toString());
    this.lastSeen.set(key, number);
    if (this.#seen.has(number)) return;
    this.#seen.add(number);
    this.firstSeen.set(key, [...(this.firstSeen.get(key) ?? []), number]);
  }
}

class Publisher {
  readonly #bus: Bus;
  readonly #topic: string;
  readonly #acknowledged: number[] = [];
  #next = 0;
  #running = true;
  #loops: Promise<void>[] = [];

  constructor(bus: Bus, topic: string) {
    this.#bus = bus;
    this.#topic = topic;
  }

  get acknowledged(): number {
    return this.#acknowledged.length;
  }

  start(): void {
    this.#loops = Array.from({ length: KEYS }, (_, i) => this.#publish(`key-${i}`));
  }

  async stop(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#loops);
  }

  missingFrom(reader: Reader): number[] {
    return this.#acknowledged.filter((number) => !reader.has(number)).slice(0, 10);
  }

  async insist(...records: ReturnType<typeof record>[]): Promise<void> {
    for (;;) {
      try {
        await this.#bus.publish(this.#topic, records);
        return;
      } catch (error) {
        if (!(error instanceof BusError && error.retryable)) throw error;
        await sleep(100);
      }
    }
  }

  async #publish(key: string): Promise<void> {
    while (this.#running) {
      const numbers = Array.from({ length: RECORDS_PER_PUBLISH }, () => this.#next++);
      await this.insist(...numbers.map((number) => record(key, number)));
      this.#acknowledged.push(...numbers);
      await sleep(20);
    }
  }
}
