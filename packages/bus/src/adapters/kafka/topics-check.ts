import { BusError } from "../../ports/errors.ts";
import type { KafkaClient, TopicDescription } from "./client/client.ts";
import type { TopicSetting, TopicSeverity, TopicSpec } from "./topics.ts";

export type TopicAdmin = Pick<KafkaClient, "describeTopic" | "createTopic" | "brokerCount">;

export interface TopicDeviation {
  readonly topic: string;
  /** Kafka's setting name, or `topic`, `partitions`, `replication.factor`, `access`. */
  readonly setting: string;
  readonly wanted: string;
  readonly found: string;
  readonly severity: TopicSeverity;
  readonly reason: string;
}

export interface TopicReport {
  readonly created: readonly string[];
  readonly deviations: readonly TopicDeviation[];
}

/** Lists missing topics and differences without changes. Rejects with BusError if no broker answers. */
export async function verifyTopics(
  admin: TopicAdmin,
  specs: readonly TopicSpec[],
): Promise<TopicDeviation[]> {
  return [...(await ensureTopics(admin, specs, { create: false })).deviations];
}

/**
 * Creates missing topics if `create`, and compares all topics with their specifications. Never changes
 * existing topics. Missing rights count as deviations. Rejects with BusError if no broker answers.
 */
export async function ensureTopics(
  admin: TopicAdmin,
  specs: readonly TopicSpec[],
  { create }: { readonly create: boolean },
): Promise<TopicReport> {
  const created: string[] = [];
  const deviations: TopicDeviation[] = [];
  for (const spec of specs) {
    try {
      let found = await admin.describeTopic(spec.topic);
      if (found === null && create) {
        const isNew = await createTopic(admin, spec);
        if (isNew) created.push(spec.topic);
        found = await admin.describeTopic(spec.topic);
        // The topic exists, but some brokers don't know it yet.
        if (found === null) continue;
      }
      deviations.push(...deviationsOf(spec, found));
    } catch (error) {
      deviations.push(await refusalOf(admin, spec, error));
    }
  }
  return { created, deviations };
}

/** Compares a topic with its specification; null: the topic is missing. */
export function deviationsOf(spec: TopicSpec, found: TopicDescription | null): TopicDeviation[] {
  const { topic } = spec;
  if (found === null) {
    const reason = "what is published to it is refused";
    return [{ topic, setting: "topic", wanted: "to exist", found: "none", severity: "error", reason }];
  }
  const shape = shapeSettings(spec).map((setting) => ({
    setting,
    value: String(setting.name === "partitions" ? found.partitions : found.replicationFactor),
  }));
  const config = spec.settings.map((setting) => ({
    setting,
    value: found.config[setting.name] ?? "nothing",
  }));
  return [...shape, ...config]
    .filter(({ setting, value }) => !isAsWanted(setting, value))
    .map(({ setting: { name, rule, value, severity, reason }, value: got }) => ({
      topic,
      setting: name,
      wanted: rule === "equal" ? value : `${rule} ${value}`,
      found: got,
      severity,
      reason,
    }));
}

function shapeSettings({ partitions, replicationFactor }: TopicSpec): TopicSetting[] {
  return [
    {
      name: "partitions",
      value: String(partitions),
      rule: "at least",
      severity: "warning",
      reason: "fewer spread the load over fewer brokers",
    },
    {
      name: "replication.factor",
      value: String(replicationFactor),
      rule: "at least",
      severity: "error",
      reason: "brokers that may be lost without loss of records, and without a stop",
    },
  ];
}

function isAsWanted({ rule, value }: TopicSetting, found: string): boolean {
  if (rule === "equal") return found === value;
  const [wantedNumber, foundNumber] = [limit(value), limit(found)];
  return rule === "at least" ? foundNumber >= wantedNumber : foundNumber <= wantedNumber;
}

/** Returns NaN for non-numbers, which never match. */
function limit(value: string): number {
  return value === "-1" ? Number.POSITIVE_INFINITY : Number(value);
}

async function createTopic(admin: TopicAdmin, spec: TopicSpec): Promise<boolean> {
  const { topic, partitions, replicationFactor, settings } = spec;
  const config = Object.fromEntries(settings.map(({ name, value }) => [name, value]));
  return await admin.createTopic({ topic, partitions, replicationFactor, config });
}

/** Returns a deviation if the cluster refused. Throws other errors, since a retry may succeed. */
async function refusalOf(admin: TopicAdmin, spec: TopicSpec, error: unknown): Promise<TopicDeviation> {
  if (!(error instanceof BusError)) throw error;
  const { topic, replicationFactor } = spec;
  if (error.code === "unauthorized") {
    return {
      topic,
      setting: "access",
      wanted:
        "the right to describe it (Describe, DescribeConfigs) and, where it is missing, to make it (Create)",
      found: error.message,
      severity: "warning",
      reason: "nobody can say whether it is as it should be",
    };
  }
  if (error.code !== "rejected") throw error;
  const brokers = await admin.brokerCount();
  const few = brokers < replicationFactor;
  return {
    topic,
    setting: few ? "replication.factor" : "topic",
    wanted: few ? `at least ${replicationFactor}` : "to be made",
    found: few ? `a cluster of ${brokers} brokers` : error.message,
    severity: "error",
    reason: few
      ? "the topic was not made: bus.replicationFactor may ask for what the cluster has, at the price that its description names"
      : "the topic was not made",
  };
}
