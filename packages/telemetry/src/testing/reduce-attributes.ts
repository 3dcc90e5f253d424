import type { Attributes } from "../otlp/model.ts";
import { reductionOf, type LabelLookup } from "../reduction.ts";

/**
 * A series' attributes as a reduced page would have them; null for a row that a reduced page would not have.
 * Attributes that are reduced already, and those of families without a reduction, come back unchanged.
 */
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
