// The forms in which data is printed, in one place: every command that prints data knows all of them.
import { visibleData, visibleLines, visibleSource } from "@isochrone/runtime/basics";
import { createRequire } from "node:module";
import type * as Yaml from "yaml";

// Required where it is needed, not imported: a third of what a table's command would load.
const require = createRequire(import.meta.url);

export const FORMATS = ["table", "json", "yaml"] as const;
export type Format = (typeof FORMATS)[number];

/** What the lines of a bill are. */
export const BILL_SORTS = ["channel", "workload", "namespace", "zones", "destination"] as const;
export type BillSort = (typeof BILL_SORTS)[number];

/**
 * `value` as JSON or YAML, or its text for people, which is made of a copy in which nothing is hidden. YAML
 * repeats what occurs twice: anchors are for machines that nobody has.
 */
export function formatted<T>(format: Format, value: T, text: (shown: T) => string): string {
  if (format === "table") return text(visibleData(value));
  return format === "json" ? jsonText(value, 2) : yamlText(value);
}

/** Of what a terminal acts on JSON itself escapes only some. */
export function jsonText(value: unknown, indent?: number): string {
  return visibleSource(JSON.stringify(value, null, indent) ?? "null");
}

export function yamlText(value: unknown): string {
  const { Document, Scalar, visit } = require("yaml") as typeof Yaml;
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, scalar) {
      const { value: text } = scalar;
      // Only there an escape says the character.
      if (typeof text === "string" && visibleLines(text) !== text) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return visibleSource(document.toString({ lineWidth: 0 }).trimEnd());
}
