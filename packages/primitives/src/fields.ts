// Reading data whose fields may be of any type: what is of the wrong one counts as absent. One odd object
// must not stop who reads all.

export type LooseFields = Readonly<Record<string, unknown>>;

/** Fields by their names of which nothing else is known. */
export type Unchecked<T> = { readonly [K in keyof T]?: unknown };

/** Whether `value` has fields by name; a list has not. */
export function isRecord(value: unknown): value is LooseFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** The fields of a declared type, or, of what came without one, those that are asked for. */
export function looseFields<T extends object>(value: T | null | undefined): Partial<T>;
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- a T with fields keeps their names
export function looseFields<T extends object = LooseFields>(value: unknown): Unchecked<T>;
export function looseFields(value: unknown): LooseFields {
  return isRecord(value) ? value : {};
}

/** As many as there are: an entry that is no object has no fields. */
export function looseList<T extends object>(value: readonly T[] | null | undefined): Partial<T>[];
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- a T with fields keeps their names
export function looseList<T extends object = LooseFields>(value: unknown): Unchecked<T>[];
export function looseList(value: unknown): LooseFields[] {
  return isList(value) ? value.map((entry) => looseFields(entry)) : [];
}

export function looseText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The keys of an object whose type names all of them. */
export function keysOf<K extends string>(object: Readonly<Record<K, unknown>>): K[] {
  return Object.keys(object) as K[];
}

export function entriesOf<K extends string, V>(object: Readonly<Partial<Record<K, V>>>): [K, V][] {
  return Object.entries(object) as [K, V][];
}

/** An object with a value for each of the keys. */
export function recordOf<K extends string, V>(
  keys: readonly K[],
  valueOf: (key: K, index: number) => V,
): Record<K, V> {
  return Object.fromEntries(keys.map((key, index) => [key, valueOf(key, index)])) as Record<K, V>;
}

export function isKeyOf<K extends string>(object: Readonly<Record<K, unknown>>, key: string): key is K {
  return Object.hasOwn(object, key);
}

/** The fields that may be undefined may be missing instead. */
type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

/** Without the fields that are given as undefined. */
export function definedOf<T extends object>(fields: T): Defined<T> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<T>;
}

/** A server of node:net or node:http. */
interface Bound {
  address(): { readonly port: number } | string | null;
}

/** The port that the server listens on. Throws for one that listens on none. */
export function boundPort(server: Bound): number {
  const address = server.address();
  if (typeof address === "object" && address !== null) return address.port;
  throw new Error(`a server must listen on a port, got ${address ?? "none"}`);
}
