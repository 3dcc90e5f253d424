// Reading objects whose fields may be of any type: what is of the wrong one counts as absent. One odd object
// must not stop who reads all.
import { isPlainObject } from "./json.ts";

export type LooseFields = Readonly<Record<string, unknown>>;

/** Fields by their names of which nothing else is known. */
export type Unchecked<T> = { readonly [K in keyof T]?: unknown };

/** The fields of a declared type, or, of what came without one, those that are asked for. */
export function looseFields<T extends object>(value: T | null | undefined): Partial<T>;
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- a T with fields keeps their names
export function looseFields<T extends object = LooseFields>(value: unknown): Unchecked<T>;
export function looseFields(value: unknown): LooseFields {
  return isPlainObject(value) ? value : {};
}

/** As many as there are: an entry that is no object has no fields. */
export function looseList<T extends object>(value: readonly T[] | null | undefined): Partial<T>[];
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- a T with fields keeps their names
export function looseList<T extends object = LooseFields>(value: unknown): Unchecked<T>[];
export function looseList(value: unknown): LooseFields[] {
  return Array.isArray(value) ? value.map((entry) => looseFields(entry)) : [];
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
