/** What a setting made of a raw value: the value, or the rule that it breaks ("must be at least 10"). */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly rule: string };

/** One row of a settings table. */
export interface Setting<T> {
  readonly kind: SettingKind;
  /** One sentence for the documentation. */
  readonly description: string;
  /** Type, unit and bounds as the documentation shows them. */
  readonly type: string;
  /** What a file may hold, as JSON Schema. It can't say the bounds of text with a unit, such as "5s". */
  readonly schema: JsonSchema;
  /** By which text with a unit is turned into the number that the bounds are for; null: it takes none. */
  readonly units: Readonly<Record<string, number>> | null;
  /** Raw default; null: may be absent; undefined: must be given. */
  readonly default: unknown;
  /** Kinds with a unit demand that the key ends in it. */
  readonly keySuffix: string | null;
  /** Of what is no setting any more: why not. Null: it is one. */
  readonly removed: string | null;
  /** Of a constant that follows from other values of its section: computes it. */
  readonly derive: ((values: Readonly<Record<string, unknown>>) => T) | null;
  /** The setting of another section whose value holds where this one isn't given; null: none. */
  readonly inherits: Inherited | null;
  parse(raw: unknown): Parsed<T>;
}

/** A schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A setting by its section and key. */
interface Inherited {
  readonly section: SharedSection;
  readonly key: string;
}

/** A section that settings inherit from. */
type SharedSection = {
  readonly name: string;
  readonly retired: readonly string[];
  readonly table: Readonly<Record<string, Setting<unknown>>>;
};

/** The kinds of settings. */
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

/**
 * Options that every kind takes. Without `default` the setting must be given; with `null` it may be absent.
 */
export interface SettingOptions<D> {
  readonly description: string;
  readonly default?: D;
}

/**
 * Null when the default is null. Not Extract: the compiler would infer D from the place where the setting is
 * used, and every setting without a default would become optional.
 */
export type OrNull<D> = D extends null ? null : never;

/** Value type of a setting. */
export type ValueOf<S> = S extends Setting<infer T> ? T : never;

export const good = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const bad = (rule: string): Parsed<never> => ({ ok: false, rule });

/** Limits of a number, inclusive. */
export interface Bounds {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** The value, unless it is a number beyond the bounds; NaN is beyond all. */
export function within<T>(value: T, { min, max }: Bounds): Parsed<T> {
  if (typeof value !== "number") return good(value);
  if (min !== undefined && !(value >= min)) return bad(`must be at least ${min}`);
  if (max !== undefined && !(value <= max)) return bad(`must be at most ${max}`);
  return good(value);
}

/** What a kind of settings adds to the options of one. */
interface SettingForm<T> extends Pick<Setting<T>, "kind" | "type" | "schema" | "parse"> {
  readonly keySuffix?: string;
  readonly units?: Readonly<Record<string, number>>;
}

/**
 * Builds a setting; the cast to the optional type is sound because the loader gives null only when the
 * default is null.
 */
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

/**
 * A setting of `section` that a service may be given for itself alone, too. The documentation shows it once,
 * where it is declared.
 */
export function inherited<T>(section: SharedSection, setting: Setting<T>): Setting<T> {
  const [key] = Object.entries(section.table).find(([, own]) => own === setting) ?? [];
  if (key === undefined) throw new TypeError(`section ${section.name} must have the setting to inherit`);
  return Object.freeze({ ...setting, inherits: { section, key } });
}

/**
 * A value that was a setting once, or may be changed by a program alone: operators can't. Who still gives it
 * is told so at the start, with the reason. `bounds` hold a number that a program gives.
 */
export function constant<T>(value: T, why: string, bounds: Bounds = {}): Setting<T> {
  return makeConstant({ default: value, why, derive: null, bounds });
}

/** Likewise, and it follows from other values of its section. */
export function derived<T>(derive: (values: never) => T, why: string): Setting<T> {
  // The section is the only caller, with the values of its own table.
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
