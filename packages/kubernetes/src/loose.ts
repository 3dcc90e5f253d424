// Reading objects whose fields may be of any type: what is of the wrong one counts as absent. One odd object must not stop who reads all.
import { isPlainObject } from "./json.ts";

export type LooseFields = Readonly<Record<string, unknown>>;

export function looseFields(value: unknown): LooseFields {
  return isPlainObject(value) ? value : {};
}

/** As many as there are: an entry that is no object has no fields. */
export function looseList(value: unknown): LooseFields[] {
  return Array.isArray(value) ? value.map(looseFields) : [];
}

export function looseText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Those of the named fields that are there. */
export function pickedFields<T>(
  fields: Readonly<Record<string, T>>,
  names: readonly string[],
): Record<string, T> {
  const picked: Record<string, T> = {};
  for (const name of names) if (fields[name] !== undefined) picked[name] = fields[name];
  return picked;
}
