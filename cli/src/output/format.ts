import { visibleData, visibleLines, visibleSource } from "@isochrone/runtime/basics";
import { createRequire } from "node:module";
import type * as Yaml from "yaml";

// Loaded on demand: a third of what a table's command would load.
const require = createRequire(import.meta.url);

export const FORMATS = ["table", "json", "yaml"] as const;
export type Format = (typeof FORMATS)[number];

export const BILL_SORTS = ["channel", "workload", "namespace", "zones", "destination"] as const;
export type BillSort = (typeof BILL_SORTS)[number];

/** Formats `value` as JSON or YAML, or as text from an escaped copy. YAML anchors are disabled. */
export function formatted<T>(format: Format, value: T, text: (shown: T) => string): string {
  if (format === "table") return text(visibleData(value));
  return format === "json" ? jsonText(value, 2) : yamlText(value);
}

/** JSON escapes only some of the characters that terminals interpret. */
export function jsonText(value: unknown, indent?: number): string {
  return visibleSource(JSON.stringify(value, null, indent) ?? "null");
}

export function yamlText(value: unknown): string {
  const { Document, Scalar, visit } = require("yaml") as typeof Yaml;
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, scalar) {
      const { value: text } = scalar;
      // Only a quoted scalar can escape the character.
      if (typeof text === "string" && visibleLines(text) !== text) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return visibleSource(document.toString({ lineWidth: 0 }).trimEnd());
}
