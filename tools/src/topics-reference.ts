// What Kafka's topics must be like as a table in Markdown, from the specification that aggregators check them
// by.
import { topicSpecs } from "@isochrone/bus/open";

const HEAD = ["| topic | setting | value | a deviation is | why |", "| --- | --- | --- | --- | --- |"];

/** One block of rows for the settings of all topics, and one for topics that are alike in the others. */
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

/** The first row names what they are about. */
function block(topics: string, rows: readonly string[]): string[] {
  return rows.map((row, index) => `| ${index === 0 ? `${topics} ` : ""}${row}`);
}
