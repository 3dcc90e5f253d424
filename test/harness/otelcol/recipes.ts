// Tests run the configurations from the documentation.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TOPICS } from "@isochrone/telemetry";

const PAGE = join(import.meta.dirname, "../../../docs/otel-collector.md");

/** Returns a YAML block of docs/otel-collector.md by the name in its first line. */
export function recipe(name: string): string {
  const blocks = readFileSync(PAGE, "utf8").matchAll(/^```yaml\n# (\S+)\n([^]*?)^```$/gm);
  for (const [, title, text] of blocks) if (title === name) return text!;
  throw new Error(`docs/otel-collector.md has no recipe "${name}"`);
}

export const FOREIGN_TOPICS: Readonly<Record<string, string>> = {
  "otel.usage.v1": TOPICS.usage,
  "otel.traffic.v1": TOPICS.traffic,
};

export const BROKER_TOPICS: readonly string[] = [...Object.values(TOPICS), ...Object.keys(FOREIGN_TOPICS)];

/** On Kafka an aggregator also reads foreign topics: kafka-seals.test.ts. */
export function toOwnTopic<R extends { readonly topic: string }>(record: R): R {
  return { ...record, topic: FOREIGN_TOPICS[record.topic] ?? record.topic };
}
