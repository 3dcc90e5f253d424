// Topics of a real cluster: created if missing, compared if present, never changed.
import { readFileSync } from "node:fs";
import { connectKafka, createKafkaBus } from "@isochrone/bus/kafka";
import type { KafkaBusOptions } from "@isochrone/bus/kafka";
import { openBus, topicSpecs, verifyTopics } from "@isochrone/bus/open";
import type { TopicDeviation } from "@isochrone/bus/open";
import { busSettings } from "@isochrone/bus/settings";
import type {
  KafkaClient,
  KafkaClientName,
  TopicChoices,
  TopicReport,
  TopicSpec,
} from "@isochrone/bus/testing";
import { ensureTopics, KAFKA_CLIENTS } from "@isochrone/bus/testing";
import { createRegistry, loadSettings, Secret, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { STATE_TOPICS, TOPICS } from "@isochrone/telemetry";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { kafkaSupport, startKafka } from "../harness/kafka/index.ts";
import type { KafkaCluster } from "../harness/kafka/index.ts";

const MIB = 1024 * 1024;
const support = kafkaSupport();
const ALL_TOPICS = [...Object.values(TOPICS), ...Object.values(STATE_TOPICS)];

function options(
  client: KafkaClientName,
  brokers: readonly string[],
  more: Partial<KafkaBusOptions> = {},
): KafkaBusOptions {
  // A service retries after a timeout, but a test may check only once on a busy machine.
  const patience = { connectTimeoutMs: 30_000, requestTimeoutMs: 60_000 };
  const surroundings = { clock: systemClock, random: systemRandom };
  return { client, brokers, clientId: "topics-test", ...surroundings, ...patience, ...more };
}

const briefly = ({ topic, setting, wanted, found, severity }: TopicDeviation): string =>
  `${severity}: ${topic} ${setting}: ${wanted}, found ${found}`;

it("documents every setting of every topic with its value and reason", () => {
  const document = readFileSync(new URL("../../docs/kafka.md", import.meta.url), "utf8");
  const rows = document.split("\n").filter((line) => line.startsWith("|"));
  for (const { topic, settings } of topicSpecs()) {
    expect(document).toContain(`\`${topic}\``);
    for (const { name, value, rule, severity } of settings) {
      const wanted = rule === "equal" ? value : `${rule} ${value}`;
      const row = rows.find((line) => line.includes(`| \`${name}\` | ${wanted} `) && line.includes(severity));
      expect([topic, name, row === undefined ? "missing" : "there"]).toEqual([topic, name, "there"]);
    }
  }
});

function specsNamed(suffix: string, choices: TopicChoices = {}): TopicSpec[] {
  return topicSpecs(choices).map((spec) => ({ ...spec, topic: `${spec.topic}.${suffix}` }));
}

// Concurrent, because the tests mostly wait.
describe.runIf(support.supported)("topics", { concurrent: true }, () => {
  let three: KafkaCluster;
  let kafka: KafkaCluster;

  beforeAll(async () => {
    [three, kafka] = await Promise.all([
      startKafka({ brokers: 3 }),
      startKafka({
        brokers: 1,
        security: "sasl_tls",
        authorizer: true,
        users: ["isochrone", "stranger"],
      }),
    ]);
  });

  afterAll(() => Promise.all([three?.close(), kafka?.close()]));

  describe.each(KAFKA_CLIENTS)("of three brokers, with %s", (client) => {
    let admin: KafkaClient;

    beforeAll(async () => {
      admin = await connectKafka(options(client, three.brokers));
    });

    afterAll(() => admin?.close());

    it("makes the missing ones as they should be, once, and leaves them alone afterwards", async () => {
      const specs = specsNamed(client);
      const topics = ALL_TOPICS.map((topic) => `${topic}.${client}`);
      const missing = await verifyTopics(admin, specs);
      expect(missing.map(briefly)).toEqual(
        topics.map((topic) => `error: ${topic} topic: to exist, found none`),
      );
      const first = await ensureTopics(admin, specs, { create: true });
      expect(first).toEqual({ created: topics, deviations: [] });
      const again = await ensureTopics(admin, specs, { create: true });
      expect(again).toEqual({ created: [], deviations: [] });
      // A broker learns of a topic created on another one a moment later.
      const probe = await vi.waitFor(async () => {
        const topic = await admin.describeTopic(`${TOPICS.probe}.${client}`);
        expect(topic).toMatchObject({ partitions: 24, replicationFactor: 3 });
        return topic;
      }, 20_000);
      expect(probe?.config).toMatchObject({
        "cleanup.policy": "delete",
        "min.insync.replicas": "2",
        "message.timestamp.type": "LogAppendTime",
        "unclean.leader.election.enable": "false",
        "retention.ms": "3600000",
      });
      const graph = await admin.describeTopic(`${STATE_TOPICS.graph}.${client}`);
      expect(graph?.config["cleanup.policy"]).toBe("compact");
    });

    it("names each setting of an existing topic that deviates, and changes none", async () => {
      const specs = specsNamed(`old.${client}`).filter(({ topic }) => topic.startsWith(STATE_TOPICS.graph));
      const topic = specs[0]!.topic;
      await three.createTopic(topic, {
        partitions: 3,
        configs: {
          "cleanup.policy": "delete",
          "min.insync.replicas": 1,
          "unclean.leader.election.enable": "true",
          "message.timestamp.type": "CreateTime",
          "max.message.bytes": 1000,
          "compression.type": "gzip",
          "retention.ms": 1000,
          "retention.bytes": 1000,
          "delete.retention.ms": 1000,
          "max.compaction.lag.ms": 86_400_000,
          "min.cleanable.dirty.ratio": 0.9,
          "segment.bytes": 1024 * MIB,
          "segment.ms": 86_400_000,
        },
      });
      const before = await admin.describeTopic(topic);
      const { created, deviations } = await ensureTopics(admin, specs, { create: true });
      expect(created).toEqual([]);
      expect(deviations.map(briefly)).toEqual([
        `warning: ${topic} partitions: at least 24, found 3`,
        `error: ${topic} min.insync.replicas: at least 2, found 1`,
        `error: ${topic} unclean.leader.election.enable: false, found true`,
        `error: ${topic} message.timestamp.type: LogAppendTime, found CreateTime`,
        `error: ${topic} max.message.bytes: at least 1114112, found 1000`,
        `warning: ${topic} compression.type: producer, found gzip`,
        `error: ${topic} cleanup.policy: compact, found delete`,
        `error: ${topic} retention.ms: at least -1, found 1000`,
        `error: ${topic} retention.bytes: at least -1, found 1000`,
        `error: ${topic} delete.retention.ms: at least 86400000, found 1000`,
        `warning: ${topic} max.compaction.lag.ms: at most 3600000, found 86400000`,
        `warning: ${topic} min.cleanable.dirty.ratio: at most 0.2, found 0.9`,
        `warning: ${topic} segment.bytes: at most 16777216, found 1073741824`,
        `warning: ${topic} segment.ms: at most 600000, found 86400000`,
      ]);
      expect(await admin.describeTopic(topic)).toEqual(before);
    });
  });

  it.each(KAFKA_CLIENTS)(
    "%s says that three copies need three brokers, and makes nothing",
    async (client) => {
      const admin = await connectKafka(options(client, kafka.internalBrokers));
      const specs = specsNamed(`refused.${client}`).slice(0, 1);
      const { topic } = specs[0]!;
      const { created, deviations } = await ensureTopics(admin, specs, { create: true });
      const left = await admin.describeTopic(topic);
      await admin.close();
      expect(created).toEqual([]);
      expect(deviations.map(briefly)).toEqual([
        `error: ${topic} replication.factor: at least 3, found a cluster of 1 brokers`,
      ]);
      expect(left).toBeNull();
    },
  );

  it.each(KAFKA_CLIENTS)("%s says which right is missing", async (client) => {
    const { ca, username, password } = kafka.access("stranger");
    const sasl = { mechanism: "scram-sha-512", username, password: new Secret(password) } as const;
    const admin = await connectKafka(options(client, kafka.brokers, { tls: { ca }, sasl }));
    // Retries like a service: an attempt without a broker's response says nothing.
    const look = (): Promise<TopicReport> => ensureTopics(admin, topicSpecs().slice(0, 1), { create: true });
    const { deviations } = await vi.waitFor(look, { timeout: 90_000, interval: 500 });
    await admin.close();
    expect(deviations).toHaveLength(1);
    expect(deviations[0]).toMatchObject({ topic: TOPICS.probe, setting: "access", severity: "warning" });
    expect(deviations[0]!.found).toContain(TOPICS.probe);
  });

  it.each(KAFKA_CLIENTS)("%s needs no more rights than the documentation names", async (client) => {
    const specs = specsNamed(client, { replicationFactor: 1, partitions: 2 });
    for (const { topic } of specs)
      await kafka.allow("isochrone", "topic", topic, ["create", "describe", "describe_configs"]);
    const { ca, username, password } = kafka.access("isochrone");
    const sasl = { mechanism: "scram-sha-512", username, password: new Secret(password) } as const;
    const admin = await connectKafka(options(client, kafka.brokers, { tls: { ca }, sasl }));
    const { created, deviations } = await ensureTopics(admin, specs, { create: true });
    await admin.close();
    expect(created).toEqual(specs.map(({ topic }) => topic));
    expect(deviations).toEqual([]);
  });

  it("is looked after by the bus that the settings open: made, logged, and shown as a metric", async () => {
    const registry = createRegistry();
    const logger = new MemoryLogger();
    const { bus: settings } = loadSettings([busSettings], {
      env: {},
      file: {
        bus: { kind: "kafka", brokers: [...kafka.internalBrokers], replicationFactor: 1, partitions: 2 },
      },
    });
    await kafka.createTopic(TOPICS.usage, { partitions: 2, configs: { "retention.ms": 1000 } });
    const { bus, service } = await openBus(settings, {
      clock: systemClock,
      random: systemRandom,
      logger,
      registry,
      memory: {},
    });
    await service.start();
    await bus.publish(TOPICS.probe, [{ key: "node-a", value: new Uint8Array([1]), headers: {} }]);
    await service.stop();
    const made = logger.lines.filter(({ event }) => event === "kafka topic made");
    expect(made.map(({ fields }) => fields["topic"])).toEqual(
      ALL_TOPICS.filter((topic) => topic !== TOPICS.usage),
    );
    const page = await registry.metrics();
    expect(page).toContain(
      `isochrone_kafka_topic_deviations{topic="${TOPICS.usage}",setting="retention.ms",severity="warning"} 1`,
    );
    expect(page).not.toContain(`topic="${TOPICS.probe}"`);
    const named = logger.lines.filter(({ fields }) => fields["setting"] === "retention.ms");
    expect(named).toHaveLength(1);
    expect(named[0]!.fields).toMatchObject({
      topic: TOPICS.usage,
      wanted: "at least 3600000",
      found: "1000",
    });
  });

  it("does not keep a service from starting when no broker is there", async () => {
    const logger = new MemoryLogger();
    const { bus: settings } = loadSettings([busSettings], {
      env: {},
      file: { bus: { kind: "kafka", brokers: ["127.0.0.1:1"], requestTimeoutMs: 500 } },
    });
    const surroundings = { clock: systemClock, random: systemRandom, logger, registry: createRegistry() };
    const { service } = await openBus(settings, { ...surroundings, memory: {} });
    await service.start();
    expect(logger.lines.map(({ event }) => event)).toContain("Kafka topics can't be checked yet");
    await service.stop();
  });

  it.each(KAFKA_CLIENTS)("%s takes a record of 1 MiB of noise, compressed or not", async (client) => {
    const admin = await connectKafka(options(client, kafka.internalBrokers));
    const specs = specsNamed(`noise.${client}`, { replicationFactor: 1, partitions: 2 }).slice(0, 1);
    const { created } = await ensureTopics(admin, specs, { create: true });
    await admin.close();
    const topic = created[0]!;
    const value = new Uint8Array(Buffer.alloc(MIB));
    crypto.getRandomValues(value.subarray(0, 65_536));
    for (let at = 65_536; at < MIB; at += 65_536) crypto.getRandomValues(value.subarray(at, at + 65_536));
    for (const compression of ["none", "gzip", "lz4", "zstd"] as const) {
      const bus = createKafkaBus(options(client, kafka.internalBrokers, { compression }));
      const published = bus.publish(topic, [{ key: "node-a", value, headers: { compression } }]);
      await expect(published).resolves.toBeUndefined();
      await bus.close();
    }
  });
});
