// The aggregator's settings of records on Kafka: who proves what.
import { constant, list, text } from "@isochrone/runtime";
import { STATE_TOPICS, TOPICS } from "@isochrone/telemetry";

/** A part of the aggregator's section. */
export const RECORD_KEY_SETTINGS = {
  recordKeysSecret: text({
    default: null,
    pattern: /[a-z0-9]([-a-z0-9]*[a-z0-9])?\/[a-z0-9]([-a-z0-9.]*[a-z0-9])?/,
    patternRule: "must be namespace/name of a Secret",
    description:
      "With Kafka: Secret (namespace/name) of the keys that records are sealed with, made and replaced by the elected replica and mounted by nobody. Each probe and collector gets a key of its own that is derived from them. Records that nobody has proven are refused then; without it, whoever may write to the topics is believed.",
  }),
  recordKeyRotationMs: constant(604_800_000, "The keys themselves never leave the aggregators."),
  recordKeyOverlapMs: constant(
    86_400_000,
    "It is the time for which tests of bandwidth are kept on the bus.",
  ),
  foreignTopics: list({
    default: [],
    pattern: /[A-Za-z0-9._-]{1,249}=[A-Za-z0-9:._@-]{1,253}/,
    patternRule: "must hold only topics with the service that writes there, such as otel.shop.v1=otel-shop",
    maxItems: 100,
    description:
      "With Kafka: further input topics (topic=service), for writers that can't seal, such as an OpenTelemetry Collector. What is there comes from the service of that name, which aggregator.speakers names too; the broker's ACLs must let nobody else write there.",
  }),
};

interface Checked {
  readonly foreignTopics: readonly string[];
}

const OWN_TOPICS: readonly string[] = [...Object.values(TOPICS), ...Object.values(STATE_TOPICS)];

/** Rules of these settings together. */
export const RECORD_KEY_RULES: readonly ((values: Checked) => string | null)[] = [
  ({ foreignTopics }) => foreignTopicsMistake(foreignTopics),
];

function foreignTopicsMistake(entries: readonly string[]): string | null {
  const topics = entries.map((entry) => splitEntry(entry)[0]);
  const own = topics.find((topic) => OWN_TOPICS.includes(topic));
  if (own !== undefined)
    return `aggregator.foreignTopics must not name a topic of Isochrone's own, got ${own}`;
  const repeated = topics.find((topic, i) => topics.indexOf(topic) < i);
  if (repeated !== undefined)
    return `aggregator.foreignTopics must name each topic once, got ${repeated} again`;
  return entries.some((entry) => splitEntry(entry)[1] === "aggregator")
    ? "aggregator.foreignTopics must not name the service aggregator, as which the replicas themselves speak"
    : null;
}

function splitEntry(entry: string): [topic: string, service: string] {
  const at = entry.indexOf("=");
  return [entry.slice(0, at), entry.slice(at + 1)];
}

/** Names of services by topic. */
export function foreignTopicsOf({
  foreignTopics,
}: {
  readonly foreignTopics: readonly string[];
}): ReadonlyMap<string, string> {
  return new Map(foreignTopics.map(splitEntry));
}

/** Settings of other sections that decide whether records can be proven. */
interface ProofFacts {
  readonly kind: string;
  readonly sealRecords: boolean;
  readonly hasSecret: boolean;
  readonly asksForTokens: boolean;
}

/** A rule across sections; null: nothing is wrong. */
export function proofsMistake({ kind, sealRecords, hasSecret, asksForTokens }: ProofFacts): string | null {
  if (kind !== "kafka") return null;
  if (sealRecords && !hasSecret)
    return "aggregator.recordKeysSecret must be set when bus.sealRecords is true, got none";
  return hasSecret && !asksForTokens
    ? "access.mode must be kubernetes when aggregator.recordKeysSecret is set: keys are given by what tokens prove"
    : null;
}
