import { environmentName } from "./section.ts";
import type { Section } from "./section.ts";
import type { Setting } from "./setting.ts";

export function describeSettings(sections: readonly Section[]): string {
  return sections.map(describeSection).join("\n");
}

function describeSection(section: Section): string {
  const settings = Object.entries(section.table).filter(
    ([, { removed, inherits }]) => removed === null && inherits === null,
  );
  const rows = settings.map(
    ([key, setting]) =>
      `| \`${section.name}.${key}\` | \`${environmentName(section.name, key)}\` | ${cell(setting.type)} | ${defaultText(setting)} | ${cell(setting.description)} |`,
  );
  return [
    `## ${section.name}`,
    "",
    ...(section.description === null ? [] : [section.description, ""]),
    "| Setting | Environment variable | Type | Default | Meaning |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
    "",
  ].join("\n");
}

function defaultText(setting: Setting<unknown>): string {
  const value = setting.default;
  if (value === undefined) return "required";
  if (value === null) return "none";
  if (Array.isArray(value)) return value.length === 0 ? "empty" : `\`${cell(value.join(","))}\``;
  return `\`${cell(typeof value === "string" ? value : JSON.stringify(value))}\``;
}

// A bar would end the table's cell, a line break its row.
function cell(text: string): string {
  return text.replaceAll("|", String.raw`\|`).replaceAll(/\s+/g, " ");
}
