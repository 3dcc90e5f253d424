// Each denial has its own code, names the resource, and causes no retry storm.
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, connect } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { BufferedPublisher, BusError } from "@isochrone/bus";
import type { Bus, BusRecord } from "@isochrone/bus";
import { createKafkaBus } from "@isochrone/bus/kafka";
import type { KafkaBusOptions } from "@isochrone/bus/kafka";
import { KAFKA_CLIENTS, type KafkaClientName } from "@isochrone/bus/testing";
import { Secret, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { TestContext } from "vitest";
import { makeCertificates } from "../harness/kafka/certificates.ts";
import { kafkaSupport, startKafka } from "../harness/kafka/index.ts";
import type { KafkaCluster } from "../harness/kafka/index.ts";

const TOPIC = "security.open";
const CLOSED_TOPIC = "security.closed";
const MISSING_TOPIC = "security.missing";
const HAMMER_WINDOW_MS = 6_000;

class Counter {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  connections = 0;

  constructor(target: string) {
    const [host = "", port = ""] = target.split(":");
    this.#server = createServer((socket) => {
      this.connections += 1;
      const onward = connect({ host, port: Number(port) });
      for (const each of [socket, onward]) {
        this.#sockets.add(each);
        each.on("error", () => undefined);
        each.on("close", () => {
          socket.destroy();
          onward.destroy();
        });
      }
      socket.pipe(onward).pipe(socket);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const support = kafkaSupport();

function open(
  { onTestFinished }: TestContext,
  client: KafkaClientName,
  overrides: Partial<KafkaBusOptions>,
): Bus {
  const bus = createKafkaBus({
    client,
    brokers: [],
    clientId: "security-test",
    clock: systemClock,
    random: systemRandom,
    deliveryTimeoutMs: 8_000,
    joinTimeoutMs: 2_000,
    ...overrides,
  });
  onTestFinished(() => bus.close());
  return bus;
}

function accessOf(
  kafka: KafkaCluster,
  username?: string,
): Pick<KafkaBusOptions, "brokers" | "tls"> & Required<Pick<KafkaBusOptions, "sasl">> {
  const access = kafka.access(username);
  return {
    brokers: kafka.brokers,
    tls: { ca: access.ca },
    sasl: {
      mechanism: "scram-sha-512",
      username: access.username,
      password: new Secret(access.password),
    },
  };
}

async function failureOf(bus: Bus, topic: string): Promise<BusError> {
  const value = new Uint8Array([1]);
  const failure: unknown = await bus.publish(topic, [{ key: "node-a", value, headers: {} }]).then(
    () => null,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(BusError);
  return failure as BusError;
}

// Concurrent, because the tests mostly wait.
describe.runIf(support.supported)("Kafka with SASL and TLS", { concurrent: true }, () => {
  let kafka: KafkaCluster;
  let expired: KafkaCluster;

  beforeAll(async () => {
    const security = "sasl_tls" as const;
    [kafka, expired] = await Promise.all([
      startKafka({ brokers: 1, security, authorizer: true, users: ["isochrone", "stranger"] }),
      startKafka({ brokers: 1, security, certificate: "expired" }),
    ]);
    await kafka.createTopic(TOPIC, { partitions: 2 });
    await kafka.createTopic(CLOSED_TOPIC, { partitions: 1 });
    await kafka.allow("isochrone", "topic", TOPIC, ["read", "write", "describe"]);
    await kafka.allow("isochrone", "topic", MISSING_TOPIC, ["read", "write", "describe"]);
    await kafka.allow("stranger", "topic", TOPIC, ["read", "describe"]);
  });

  afterAll(() => Promise.all([kafka?.close(), expired?.close()]));

  describe.each(KAFKA_CLIENTS)("%s", (client) => {
    it("publishes and reads, logged in by SCRAM over TLS", async (context) => {
      const bus = open(context, client, accessOf(kafka));
      const seen: BusRecord[] = [];
      await bus.subscribe({
        topics: [TOPIC],
        from: "latest",
        onBatch: async (batch) => {
          seen.push(...batch.records);
        },
      });
      const value = new Uint8Array(Buffer.from(client));
      await bus.publish(TOPIC, [{ key: "node-a", value, headers: { by: client } }]);
      // Other tests publish to the topic meanwhile.
      const own = (): BusRecord[] => seen.filter(({ headers }) => headers["by"] === client);
      await vi.waitFor(() => expect(own()).toHaveLength(1), { timeout: 20_000, interval: 20 });
      expect(own()[0]!.key).toBe("node-a");
      expect(Buffer.from(own()[0]!.value).toString()).toBe(client);
    });

    it("names a wrong password", async (context) => {
      const access = accessOf(kafka);
      const sasl = { ...access.sasl, password: new Secret("not the password") };
      const failure = await failureOf(open(context, client, { ...access, sasl }), TOPIC);
      expect(failure).toMatchObject({ code: "unauthenticated", retryable: true });
      expect(failure.retryAfterMs).toBeGreaterThan(1_000);
      expect(failure.message).toMatch(/SASL|authentication/i);
      expect(failure.message).not.toContain("not the password");
    });

    it("names an authority that it does not know", async (context) => {
      const folder = await mkdtemp(join(tmpdir(), "isochrone-ca-"));
      context.onTestFinished(() => rm(folder, { recursive: true }));
      const { ca } = await makeCertificates(folder, ["127.0.0.1"], 1);
      const failure = await failureOf(open(context, client, { ...accessOf(kafka), tls: { ca } }), TOPIC);
      expect(failure).toMatchObject({ code: "untrusted", retryable: true });
      expect(failure.message).toMatch(/TLS/);
    });

    it("names a topic that it may not write to", async (context) => {
      const failure = await failureOf(open(context, client, accessOf(kafka)), CLOSED_TOPIC);
      expect(failure).toMatchObject({ code: "unauthorized", retryable: true });
      expect(failure.message).toContain(CLOSED_TOPIC);
    });

    it("names a topic that there is none of", async (context) => {
      const failure = await failureOf(open(context, client, accessOf(kafka)), MISSING_TOPIC);
      expect(failure).toMatchObject({ code: "unknown_topic", retryable: true });
      expect(failure.message).toContain(MISSING_TOPIC);
    });

    it("names a topic that it may not read, keeps asking, and is let in when it may", async (context) => {
      const topic = `late-${client}`;
      await kafka.createTopic(topic);
      const record = { key: "node-a", value: new Uint8Array([1]), headers: {} };
      await kafka.allow("isochrone", "topic", topic, ["write"]);
      await open(context, client, accessOf(kafka)).publish(topic, [record]);
      const logger = new MemoryLogger();
      const bus = open(context, client, { ...accessOf(kafka, "stranger"), logger });
      const seen: BusRecord[] = [];
      await bus.subscribe({
        topics: [topic],
        from: "earliest",
        onBatch: async (batch) => void seen.push(...batch.records),
      });
      const failures = logger.lines
        .map(({ fields }) => fields["error"])
        .filter((error) => error instanceof BusError);
      expect(failures).toContainEqual(expect.objectContaining({ code: "unauthorized" }));
      expect(failures.map(({ message }) => message).join("\n")).toContain(topic);
      await kafka.allow("stranger", "topic", topic, ["read"]);
      await vi.waitFor(() => expect(seen.length).toBeGreaterThan(0), { timeout: 30_000, interval: 50 });
    });

    it.for(["publisher", "subscriber", "impatient callers"] as const)(
      "does not hammer the broker that refuses it: %s",
      async (kind, context) => {
        const counter = new Counter(kafka.brokers[0]!);
        context.onTestFinished(() => counter.close());
        const access = accessOf(kafka);
        const sasl = { ...access.sasl, password: new Secret("wrong") };
        const bus = open(context, client, { ...access, sasl, brokers: [await counter.listen()] });
        if (kind === "publisher") keepOffering(context, bus);
        if (kind === "subscriber") {
          const none = async (): Promise<void> => undefined;
          void bus.subscribe({ topics: [TOPIC], from: "earliest", onBatch: none });
        }
        if (kind === "impatient callers") void callWithoutPause(bus, HAMMER_WINDOW_MS);
        await sleep(HAMMER_WINDOW_MS);
        expect(counter.connections).toBeGreaterThan(0);
        expect(counter.connections).toBeLessThanOrEqual(6);
      },
    );
  });

  it.for(KAFKA_CLIENTS)("%s names an expired certificate, and does not hammer", async (client, context) => {
    const counter = new Counter(expired.brokers[0]!);
    context.onTestFinished(() => counter.close());
    const bus = open(context, client, { ...accessOf(expired), brokers: [await counter.listen()] });
    const failure = await failureOf(bus, TOPIC);
    expect(failure).toMatchObject({ code: "untrusted", retryable: true });
    expect(failure.message).toMatch(/expired/i);
    const before = counter.connections;
    keepOffering(context, bus);
    await sleep(HAMMER_WINDOW_MS);
    expect(counter.connections - before).toBeLessThanOrEqual(4);
  });
});

/** Publishes through the buffer like a probe, regardless of the outcome. */
function keepOffering({ onTestFinished }: TestContext, bus: Bus): void {
  const publisher = new BufferedPublisher({
    publisher: bus,
    source: "probe-a",
    clock: systemClock,
    random: systemRandom,
  });
  onTestFinished(() => publisher.close(0));
  publisher.offer(TOPIC, "node-a", new Uint8Array([1]));
}

async function callWithoutPause(bus: Bus, forMs: number): Promise<void> {
  const untilMs = performance.now() + forMs;
  const record = { key: "node-a", value: new Uint8Array([1]), headers: {} };
  while (performance.now() < untilMs) {
    await Promise.allSettled(Array.from({ length: 10 }, () => bus.publish(TOPIC, [record])));
    await sleep(20);
  }
}
