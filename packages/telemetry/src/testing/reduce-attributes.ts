import type { Attributes } from "../otlp/model.ts";
import { reductionOf, type LabelLookup } from "../reduction.ts";

/** Reduces a series' attributes as a collector does. Null: the row is dropped. Idempotent. */
export function reduceAttributes(name: string, attributes: Attributes): Attributes | null {
  const reduction = reductionOf(name);
  if (reduction === undefined) return attributes;
  const label: LabelLookup = (key) => {
    const value = attributes[key];
    return value === undefined ? "" : String(value);
  };
  if (!reduction.keeps(label)) return null;
  if (reduction.labels === null) return attributes;
  const reduced: Record<string, string> = {};
  for (const { name: key, derive } of reduction.labels) {
    const value = derive === undefined ? label(key) : derive(label);
    if (value !== "") reduced[key] = value;
  }
  return reduced;
}
