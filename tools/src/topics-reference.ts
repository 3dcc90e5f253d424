// Table of required Kafka topic settings, from the specification that aggregators check.
import { topicSpecs } from "@isochrone/bus/open";

const HEAD = ["| topic | setting | value | a deviation is | why |", "| --- | --- | --- | --- | --- |"];

/** One block for settings common to all topics, then one per group of similar topics. */
export function topicsTable(): string {
  const rows = topicSpecs().map(({ topic, settings }) => ({
    topic,
    rows: settings.map(
      ({ name, value, rule, severity, reason }) =>
        `| \`${name}\` | ${rule === "equal" ? value : `${rule} ${value}`} | ${severity} | ${reason} |`,
    ),
  }));
  const shared = new Set(rows[0]!.rows.filter((row) => rows.every((other) => other.rows.includes(row))));
  const alike = Map.groupBy(rows, (one) => one.rows.filter((row) => !shared.has(row)).join("\n"));
  return [
    ...HEAD,
    ...block("all", [...shared]),
    ...[...alike].flatMap(([text, topics]) =>
      block(topics.map(({ topic }) => `\`${topic}\``).join(", "), text.split("\n")),
    ),
  ].join("\n");
}

function block(topics: string, rows: readonly string[]): string[] {
  return rows.map((row, index) => `| ${index === 0 ? `${topics} ` : ""}${row}`);
}
