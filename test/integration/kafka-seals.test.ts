// Possible changes by a holder of a probe's password or by an attacker on the wire.
import {
  createUnprovenCounter,
  type Intake,
  MemoryKeyStore,
  RecordKeys,
  RecordSeals,
  SpeakerPolicy,
  startIntake,
  Tables,
} from "@isochrone/aggregator/testing";
import { BusError, type Bus, type BusRecord, type OutgoingRecord } from "@isochrone/bus";
import { createKafkaBus } from "@isochrone/bus/kafka";
import { sealedBus, sealedPublisher, type RecordKey } from "@isochrone/bus/seal";
import { MAC_HEADER, partitionOf, sealRecord } from "@isochrone/bus/testing";
import { createRegistry, Secret, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { encodeHeaders, encodeMetrics, PROBE_METRICS, STATE_TOPICS, TOPICS } from "@isochrone/telemetry";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { kafkaSupport, startKafka, type KafkaCluster } from "../harness/kafka/index.ts";

const PARTITIONS = 2;
const FOREIGN = "otel.shop.v1";
const SHAPE = { windowMs: 600_000, paneMs: 2_000, panes: 300, fastPanes: 3 };
const LIMITS = { maxLinks: 1_000, maxChannels: 1_000, maxPods: 1_000 };
const INGEST = { maxFutureMs: 10_000, maxSeries: 10_000, maxSources: 100 };
const WITHIN = { timeout: 60_000, interval: 50 };
const support = kafkaSupport();

describe.runIf(support.supported)("Kafka with the rights of docs/kafka.md, and sealed records", () => {
  let kafka: KafkaCluster;
  let keys: RecordKeys;
  let intake: Intake;
  const tables = new Tables(SHAPE, LIMITS);
  const registry = createRegistry();
  const unproven = createUnprovenCounter(registry);
  const buses: Bus[] = [];
  const letters: string[] = [];
  const onTopic: BusRecord[] = [];
  let sequence = 0;

  function busOf(username: string): Bus {
    const { ca, password } = kafka.access(username);
    const bus = createKafkaBus({
      client: "platformatic",
      brokers: kafka.brokers,
      clientId: username,
      clock: systemClock,
      random: systemRandom,
      deliveryTimeoutMs: 15_000,
      tls: { ca },
      sasl: { mechanism: "scram-sha-512", username, password: new Secret(password) },
    });
    buses.push(bus);
    return bus;
  }

  beforeAll(async () => {
    const users = ["aggregator", "probe", "otel"];
    kafka = await startKafka({
      brokers: 1,
      security: "sasl_tls",
      authorizer: true,
      users,
      properties: { "log.message.timestamp.type": "LogAppendTime" },
    });
    const inputs = [...Object.values(TOPICS), FOREIGN];
    for (const topic of [...inputs, ...Object.values(STATE_TOPICS)])
      await kafka.createTopic(topic, { partitions: PARTITIONS });
    await kafka.allow("probe", "topic", TOPICS.probe, ["write"]);
    await kafka.allow("otel", "topic", FOREIGN, ["write"]);
    for (const topic of inputs) await kafka.allow("aggregator", "topic", topic, ["read"]);
    await kafka.allow("aggregator", "topic", STATE_TOPICS.graph, ["read", "write"]);
    await kafka.allow("aggregator", "topic", STATE_TOPICS.deadLetter, ["read", "write"]);
    const logger = new MemoryLogger();
    keys = new RecordKeys({
      store: new MemoryKeyStore(),
      leadership: { isLeader: () => true },
      clock: systemClock,
      logger,
      randomBytes: (count) => Buffer.alloc(count, 5),
      rotationMs: 0,
      overlapMs: 60_000,
      checkMs: 60_000,
    });
    await keys.start();
    const foreignTopics = new Map([[FOREIGN, "otel"]]);
    const seals = new RecordSeals({ keys, foreignTopics, logger, unproven });
    const bus = busOf("aggregator");
    await bus.subscribe({
      topics: [TOPICS.probe, STATE_TOPICS.deadLetter],
      from: "earliest",
      onBatch: async ({ topic, records }) => {
        if (topic === TOPICS.probe) onTopic.push(...records);
        else letters.push(...records.map(({ headers }) => headers["isochrone-reason"]!));
      },
    });
    intake = await startIntake({
      bus: sealedBus(bus, keys.sealingKey),
      clock: systemClock,
      logger,
      registry,
      tables,
      ingest: INGEST,
      speaking: {
        policy: new SpeakerPolicy([
          { account: null, name: "otel", nodes: new Set(["f"]), namespaces: new Set() },
        ]),
      },
      counterHorizonMs: 1_000,
      proofs: {
        known: (signal) => keys.known(signal),
        pending: () => keys.pending(),
        foreignTopics: [FOREIGN],
        speakersOf: (place) => seals.speakersOf(place),
        isOwn: (record) => seals.isOwn(record),
      },
    });
  }, 240_000);

  afterAll(async () => {
    await intake?.stop();
    await keys?.stop();
    await Promise.all(buses.map((bus) => bus.close()));
    await kafka?.close();
  });

  const keyOf = (node: string): RecordKey => keys.keyFor({ kind: "node", node });

  function probeRecord(node: string, sent: number): OutgoingRecord {
    const timeMs = Date.now();
    const attributes = { destination_node: "x", method: "udp_rr", ip_family: "4", outcome: "sent" };
    const value = encodeMetrics({
      resource: { "k8s.node.name": node },
      scope: { name: "test" },
      metrics: [
        {
          kind: "sum",
          name: PROBE_METRICS.packets,
          temporality: "delta",
          monotonic: true,
          points: [{ attributes, startMs: timeMs - 1000, timeMs, value: sent }],
        },
      ],
    });
    const source = `probe/${node}`;
    const headers = encodeHeaders({ source, epoch: "e1", sequence: sequence++, sentAtMs: timeMs });
    return { key: node, value, headers };
  }

  const seal = (key: RecordKey, topic: string, record: OutgoingRecord): OutgoingRecord =>
    sealRecord(key, { topic, partition: partitionOf(record.key, PARTITIONS) }, record);

  function packets(): Record<string, number> {
    const links = tables.links.sorted();
    return Object.fromEntries(
      links.map((link) => [link.key.source, link.read(Date.now(), SHAPE.panes)?.sent ?? 0]),
    );
  }

  async function refusals(): Promise<Record<string, number>> {
    const { values } = await unproven.get();
    return Object.fromEntries(values.map(({ labels, value }) => [`${labels.topic} ${labels.fault}`, value]));
  }

  it("takes what a probe seals by its own key", async () => {
    await vi.waitFor(() => expect(intake.pending()).toEqual([]), WITHIN);
    const probe = sealedPublisher(busOf("probe"), () => keyOf("a"));
    await probe.publish(TOPICS.probe, [probeRecord("a", 3)]);
    await vi.waitFor(() => expect(packets()).toEqual({ a: 3 }), WITHIN);
    expect(await refusals()).toEqual({});
  }, 90_000);

  it("lets a probe's user write nothing but the probes' topic, and read nothing", async () => {
    const probe = busOf("probe");
    const others = [TOPICS.usage, TOPICS.traffic, FOREIGN, ...Object.values(STATE_TOPICS)];
    const failures = await Promise.all(
      others.map((topic) => probe.publish(topic, [probeRecord("a", 1)]).catch((error: unknown) => error)),
    );
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(BusError);
      expect((failure as BusError).code).toBe("unauthorized");
    }
    expect(packets()).toEqual({ a: 3 });
  }, 90_000);

  it("takes nothing that a probe's user forges, and the probe goes on as if nothing had been", async () => {
    const probe = busOf("probe");
    await vi.waitFor(() => expect(onTopic).toHaveLength(1), WITHIN);
    const { key, value, headers } = onTopic[0]!;
    const { [MAC_HEADER]: _, ...stripped } = headers;
    const elsewhere = ["b", "c", "d", "e", "f"].find(
      (other) => partitionOf(other, PARTITIONS) !== partitionOf("a", PARTITIONS),
    )!;
    const forged: readonly OutgoingRecord[] = [
      // Unsealed: stripped headers.
      probeRecord("a", 1000),
      { key, value, headers: stripped },
      // Another node under the own key; another value; another partition; an unknown key.
      seal({ ...keyOf("b"), speaker: "node/a" }, TOPICS.probe, probeRecord("a", 1000)),
      { key, value: probeRecord("a", 1000).value, headers },
      { key: elsewhere, value, headers },
      seal({ ...keyOf("a"), keyId: 7 }, TOPICS.probe, probeRecord("a", 1000)),
      // Sealed for another topic.
      seal(keyOf("a"), TOPICS.usage, probeRecord("a", 1000)),
      // Intact, so it is a replay.
      { key, value, headers },
    ];
    for (const record of forged) await probe.publish(TOPICS.probe, [record]);
    await vi.waitFor(async () => {
      expect(await refusals()).toEqual({
        [`${TOPICS.probe} unsealed`]: 2,
        [`${TOPICS.probe} forged`]: 4,
        [`${TOPICS.probe} unknown_key`]: 1,
      });
      expect(intake.counts.duplicateRecords).toBe(1);
      expect(letters).toEqual(Array.from({ length: 7 }, () => "unproven"));
    }, WITHIN);
    expect(packets()).toEqual({ a: 3 });
    await sealedPublisher(probe, () => keyOf("a")).publish(TOPICS.probe, [probeRecord("a", 2)]);
    await vi.waitFor(() => expect(packets()).toEqual({ a: 5 }), WITHIN);
  }, 150_000);

  it("takes what a foreign writer writes to its own topic, for the service that it is", async () => {
    const { key, value } = probeRecord("f", 4);
    await busOf("otel").publish(FOREIGN, [{ key, value, headers: {} }]);
    await vi.waitFor(() => expect(packets()).toEqual({ a: 5, f: 4 }), WITHIN);
  }, 90_000);
});
