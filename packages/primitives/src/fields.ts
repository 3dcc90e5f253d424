// Reads untrusted data. A field of the wrong type counts as absent, so that one odd object does not stop a
// reader of many.

export type LooseFields = Readonly<Record<string, unknown>>;

export type Unchecked<T> = { readonly [K in keyof T]?: unknown };

export function isRecord(value: unknown): value is LooseFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Known fields of an untrusted object; {} if it is not an object. */
export function looseFields<T extends object>(value: T | null | undefined): Partial<T>;
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- a T with fields keeps their names
export function looseFields<T extends object = LooseFields>(value: unknown): Unchecked<T>;
export function looseFields(value: unknown): LooseFields {
  return isRecord(value) ? value : {};
}

/** Keeps the length: an entry that is not an object has no fields. */
export function looseList<T extends object>(value: readonly T[] | null | undefined): Partial<T>[];
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- a T with fields keeps their names
export function looseList<T extends object = LooseFields>(value: unknown): Unchecked<T>[];
export function looseList(value: unknown): LooseFields[] {
  return isList(value) ? value.map((entry) => looseFields(entry)) : [];
}

export function looseText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function keysOf<K extends string>(object: Readonly<Record<K, unknown>>): K[] {
  return Object.keys(object) as K[];
}

export function entriesOf<K extends string, V>(object: Readonly<Partial<Record<K, V>>>): [K, V][] {
  return Object.entries(object) as [K, V][];
}

export function recordOf<K extends string, V>(
  keys: readonly K[],
  valueOf: (key: K, index: number) => V,
): Record<K, V> {
  return Object.fromEntries(keys.map((key, index) => [key, valueOf(key, index)])) as Record<K, V>;
}

export function isKeyOf<K extends string>(object: Readonly<Record<K, unknown>>, key: string): key is K {
  return Object.hasOwn(object, key);
}

type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

export function definedOf<T extends object>(fields: T): Defined<T> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<T>;
}

interface Bound {
  address(): { readonly port: number } | string | null;
}

/** The port the server listens on. Throws if it is not listening. */
export function boundPort(server: Bound): number {
  const address = server.address();
  if (typeof address === "object" && address !== null) return address.port;
  throw new Error(`a server must listen on a port, got ${address ?? "none"}`);
}

/**
 * Maximum nesting of JSON: JSON.parse copes with more, but recursive walks of the value do not. Kubernetes
 * objects stay below 30 levels.
 */
export const MAX_JSON_LEVELS = 100;

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 92, 91, 93, 123, 125];

export const JSON_LEVELS_RULE = `must be nested at most ${MAX_JSON_LEVELS} levels deep, got more`;

/** Parses untrusted JSON. Throws SyntaxError for invalid or too deeply nested text. */
export function parseJson(text: string): unknown {
  if (isNestedTooDeeply(text)) throw new SyntaxError(`values ${JSON_LEVELS_RULE}`);
  return JSON.parse(text);
}

/** Whether the text exceeds {@link MAX_JSON_LEVELS}. False for text that ends within a string. */
export function isNestedTooDeeply(text: string): boolean {
  if (!hasManyOpenings(text)) return false;
  let levels = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      if (at < 0) return false;
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++levels > MAX_JSON_LEVELS) return true;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) levels--;
  }
  return false;
}

function hasManyOpenings(text: string): boolean {
  let openings = 0;
  for (const bracket of "[{")
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1))
      if (++openings > MAX_JSON_LEVELS) return true;
  return false;
}

function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return -1;
}
