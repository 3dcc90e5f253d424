// The forms in which data is printed, in one place: every command that prints data knows all of them.
import { stringify } from "yaml";

export const FORMATS = ["table", "json", "yaml"] as const;
export type Format = (typeof FORMATS)[number];

/** `value` as JSON or YAML, or its text for people. YAML repeats what occurs twice: anchors are for machines that nobody has. */
export function formatted(format: Format, value: unknown, text: () => string): string {
  if (format === "table") return text();
  return format === "json" ? JSON.stringify(value, null, 2) : yamlText(value);
}

export function yamlText(value: unknown): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 }).trimEnd();
}
