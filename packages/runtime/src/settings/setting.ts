/** A parsed value, or the rule that it breaks ("must be at least 10"). */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly rule: string };

export interface Setting<T> {
  readonly kind: SettingKind;
  readonly description: string;
  readonly type: string;
  /** JSON Schema of the value in a file. It can't express bounds of text with a unit, such as "5s". */
  readonly schema: JsonSchema;
  /** Factors from text with a unit to the bounded number; null if there are no units. */
  readonly units: Readonly<Record<string, number>> | null;
  /** Raw default; null: optional; undefined: required. */
  readonly default: unknown;
  readonly keySuffix: string | null;
  /** Why the setting was removed; null if it exists. */
  readonly removed: string | null;
  readonly derive: ((values: Readonly<Record<string, unknown>>) => T) | null;
  /** Setting of another section that supplies a missing value; null: none. */
  readonly inherits: Inherited | null;
  parse(raw: unknown): Parsed<T>;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

interface Inherited {
  readonly section: SharedSection;
  readonly key: string;
}

type SharedSection = {
  readonly name: string;
  readonly retired: readonly string[];
  readonly table: Readonly<Record<string, Setting<unknown>>>;
};

type SettingKind =
  | "integer"
  | "number"
  | "ratio"
  | "duration"
  | "bytes"
  | "text"
  | "flag"
  | "oneOf"
  | "list"
  | "secret"
  | "constant";

/** Options of every kind. Without `default` the setting is required; `null` makes it optional. */
export interface SettingOptions<D> {
  readonly description: string;
  readonly default?: D;
}

/**
 * Null if the default is null. Not Extract, with which the compiler would infer D from the usage and make
 * every setting without a default optional.
 */
export type OrNull<D> = D extends null ? null : never;

export type ValueOf<S> = S extends Setting<infer T> ? T : never;

export const good = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const bad = (rule: string): Parsed<never> => ({ ok: false, rule });

export interface Bounds {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** Rejects numbers out of bounds; NaN is always out of bounds. */
export function within<T>(value: T, { min, max }: Bounds): Parsed<T> {
  if (typeof value !== "number") return good(value);
  if (min !== undefined && !(value >= min)) return bad(`must be at least ${min}`);
  if (max !== undefined && !(value <= max)) return bad(`must be at most ${max}`);
  return good(value);
}

interface SettingForm<T> extends Pick<Setting<T>, "kind" | "type" | "schema" | "parse"> {
  readonly keySuffix?: string;
  readonly units?: Readonly<Record<string, number>>;
}

/** The cast to the optional type is sound because the loader returns null only if the default is null. */
export function makeSetting<T, D>(options: SettingOptions<D>, form: SettingForm<T>): Setting<T | OrNull<D>> {
  const { description } = options;
  return Object.freeze({
    keySuffix: null,
    units: null,
    removed: null,
    derive: null,
    inherits: null,
    ...form,
    description,
    default: options.default,
  });
}

/** A setting of `section` that a service may override. Documented once, where it is declared. */
export function inherited<T>(section: SharedSection, setting: Setting<T>): Setting<T> {
  const [key] = Object.entries(section.table).find(([, own]) => own === setting) ?? [];
  if (key === undefined) throw new TypeError(`section ${section.name} must have the setting to inherit`);
  return Object.freeze({ ...setting, inherits: { section, key } });
}

/**
 * A former setting, or one that only programs may change. An operator who still sets it is told the reason at
 * start. `bounds`: of a program's number.
 */
export function constant<T>(value: T, why: string, bounds: Bounds = {}): Setting<T> {
  return makeConstant({ default: value, why, derive: null, bounds });
}

export function derived<T>(derive: (values: never) => T, why: string): Setting<T> {
  return makeConstant({ default: null, why, derive: derive as unknown as Setting<T>["derive"], bounds: {} });
}

function makeConstant<T>({
  default: value,
  why,
  derive,
  bounds,
}: {
  readonly default: T | null;
  readonly why: string;
  readonly derive: Setting<T>["derive"];
  readonly bounds: Bounds;
}): Setting<T> {
  return Object.freeze({
    kind: "constant",
    type: "constant",
    schema: {},
    units: null,
    keySuffix: null,
    description: why,
    default: value,
    removed: why,
    derive,
    inherits: null,
    parse: (raw: unknown) => within(raw as T, bounds),
  });
}
