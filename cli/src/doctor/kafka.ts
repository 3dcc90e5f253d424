import { BusError } from "@isochrone/bus";
import { connectKafka } from "@isochrone/bus/kafka";
import { kafkaOptions, topicSpecs, verifyTopics } from "@isochrone/bus/open";
import type { TopicDeviation } from "@isochrone/bus/open";
import type { BusSettings } from "@isochrone/bus/settings";
import { createLogger, systemClock, systemRandom, withDeadline } from "@isochrone/runtime";
import { reasonOf } from "@isochrone/primitives";
import { ok, skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";

interface KafkaFacts {
  readonly brokers: readonly string[];
  readonly authentication: string;
  /** Brokers in the cluster; null: none answered, see `error`. */
  readonly brokerCount: number | null;
  readonly deviations: readonly TopicDeviation[] | null;
  readonly topics: number;
  readonly error: { readonly code: string; readonly message: string } | null;
}

const DEADLINE_MS = 20_000;

export async function lookAtKafka(settings: BusSettings): Promise<KafkaFacts> {
  const specs = topicSpecs(settings);
  const { brokers, tls, saslMechanism, saslUsername } = settings;
  const authentication = `${tls ? "TLS" : "plain TCP"}, ${saslMechanism === null ? "no name" : `${saslMechanism} as ${saslUsername}`}`;
  const facts = { brokers, authentication, topics: specs.length };
  try {
    const logger = createLogger({
      service: "isochrone",
      level: "error",
      destination: { write: () => undefined },
    });
    const admin = await connectKafka(
      kafkaOptions(settings, { clock: systemClock, random: systemRandom, logger }),
    );
    try {
      return await withDeadline(systemClock, DEADLINE_MS, `Kafka at ${brokers.join(", ")}`, async () => ({
        ...facts,
        brokerCount: await admin.brokerCount(),
        deviations: await verifyTopics(admin, specs),
        error: null,
      }));
    } finally {
      await admin.close();
    }
  } catch (error) {
    const code = error instanceof BusError ? error.code : "unavailable";
    return { ...facts, brokerCount: null, deviations: null, error: { code, message: reasonOf(error) } };
  }
}

const REMEDIES: Readonly<Record<string, string>> = {
  unauthenticated:
    "Set bus.saslMechanism, bus.saslUsername and bus.saslPasswordFile as the brokers know them (docs/kafka.md).",
  untrusted: "Set bus.tls and bus.caFile to the authority of the brokers' certificates (docs/kafka.md).",
  unauthorized:
    "Grant the user Describe and DescribeConfigs on the topics and the cluster (docs/kafka.md, rights).",
};
const UNREACHABLE =
  "Set bus.brokers to addresses that answer from here, and look at `bin/kafka-broker-api-versions.sh --bootstrap-server HOST:PORT`.";

/** @param facts null: no settings, nothing to check */
export function judgeKafka(facts: KafkaFacts | null): Verdict[] {
  const looked =
    facts === null ? "bus.brokers" : `brokers ${facts.brokers.join(", ")}, ${facts.authentication}`;
  const reach = { check: "brokers", looked, rule: "a broker answers and accepts our credentials" };
  if (facts === null)
    return [
      skipped({
        ...reach,
        why: "no brokers are named",
        remedy:
          "Name them by --kafka host:port,... or a services' settings file by --settings, where Kafka is the bus.",
      }),
    ];
  const { error, brokerCount, deviations, topics } = facts;
  const topicParts = {
    check: "topics",
    looked: `${topics} topics and their settings`,
    rule: "each as docs/kafka.md has it",
  };
  if (error !== null)
    return [
      verdict(false, "error", {
        ...reach,
        value: `${error.code}: ${error.message}`,
        remedy: REMEDIES[error.code] ?? UNREACHABLE,
      }),
      skipped({ ...topicParts, why: "no broker could be asked", remedy: null }),
    ];
  const found = deviations ?? [];
  return [
    ok({ ...reach, value: `${brokerCount} brokers` }),
    ...(found.length === 0
      ? [ok({ ...topicParts, value: "all as they should be" })]
      : found.map(deviationVerdict)),
  ];
}

function deviationVerdict({ topic, setting, wanted, found, severity, reason }: TopicDeviation): Verdict {
  return {
    check: `topic ${topic}`,
    severity,
    looked: `its ${setting}`,
    value: found,
    rule: `${wanted}: ${reason}`,
    remedy: remedyOf(topic, setting, wanted),
  };
}

function remedyOf(topic: string, setting: string, wanted: string): string {
  switch (setting) {
    case "topic":
      return "Start an aggregator with bus.createTopics, or make it by hand (docs/kafka.md, topics).";
    case "partitions":
      return `\`kafka-topics.sh --alter --topic ${topic} --partitions N\` with all aggregators down (${wanted}), or set bus.partitions to what there is.`;
    case "replication.factor":
      return "`kafka-reassign-partitions.sh`, or set bus.replicationFactor to what the cluster can hold.";
    case "access":
      return REMEDIES["unauthorized"]!;
    default:
      return `\`kafka-configs.sh --alter --entity-type topics --entity-name ${topic} --add-config ${setting}=${wanted.replace(/^at (least|most) /, "")}\``;
  }
}
