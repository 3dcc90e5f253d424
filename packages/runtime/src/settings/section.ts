import type { Setting, ValueOf } from "./setting.ts";

type SettingsTable = Readonly<Record<string, Setting<unknown>>>;

type ValuesOfTable<T extends SettingsTable> = { readonly [K in keyof T]: ValueOf<T[K]> };

/**
 * Checks the section's values together; returns the mistake ("timeoutMs must be less than intervalMs, got 900
 * and 500").
 */
export type SectionRule<V> = (values: V) => string | null;

export interface Section<N extends string = string, T extends SettingsTable = SettingsTable> {
  readonly name: N;
  readonly table: T;
  readonly description: string | null;
  /** Names that were settings once: the service ignores them and logs that it does. */
  readonly retired: readonly string[];
  // A method, so that sections with narrower values still are sections.
  check(values: ValuesOfTable<T>): readonly string[];
}

/** Values of a section: `SettingsOf<typeof probeSettings>`. */
export type SettingsOf<S> = S extends Section<string, infer T> ? ValuesOfTable<T> : never;

const CAMEL_CASE = /^[a-z][a-zA-Z0-9]*$/;

/** Throws TypeError for a wrong name or unit suffix, a programming error. */
export function section<const N extends string, T extends SettingsTable>(
  name: N,
  table: T,
  options: {
    readonly description?: string;
    readonly retired?: readonly string[];
    readonly rules?: readonly SectionRule<ValuesOfTable<NoInfer<T>>>[];
  } = {},
): Section<N, T> {
  if (!CAMEL_CASE.test(name)) throw new TypeError(`section name must be camelCase, got "${name}"`);
  for (const [key, setting] of Object.entries(table)) {
    if (!CAMEL_CASE.test(key)) throw new TypeError(`setting name must be camelCase, got "${name}.${key}"`);
    if (setting.keySuffix !== null && !key.endsWith(setting.keySuffix))
      throw new TypeError(`${setting.kind} setting must end in ${setting.keySuffix}, got "${name}.${key}"`);
  }
  const rules = options.rules ?? [];
  return Object.freeze({
    name,
    table: Object.freeze({ ...table }),
    description: options.description ?? null,
    retired: options.retired ?? [],
    check: (values: ValuesOfTable<T>) =>
      rules.map((rule) => rule(values)).filter((mistake) => mistake !== null),
  });
}

/** probe.intervalMs is ISOCHRONE_PROBE_INTERVAL_MS. */
export function environmentName(sectionName: string, key: string): string {
  return `${environmentPrefix(sectionName)}${upperSnake(key)}`;
}

export function environmentPrefix(sectionName: string): string {
  return `ISOCHRONE_${upperSnake(sectionName)}_`;
}

function upperSnake(camel: string): string {
  return camel.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase();
}
