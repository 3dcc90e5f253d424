import { SettingsError } from "../errors.ts";
import { readSettingsFile } from "./file.ts";
import { REDACTED, Secret } from "./secret.ts";
import { environmentName, environmentPrefix } from "./section.ts";
import type { Section, SettingsOf } from "./section.ts";
import type { Setting } from "./setting.ts";
import { didYouMean } from "./suggest.ts";

type RawSections = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Sources of values by precedence: overrides, environment, file, default. */
interface SettingsSources {
  /** Usually process.env. An empty variable counts as unset. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Path of a YAML or JSON file, or a program's values, which may change constants too. */
  readonly file?: string | RawSections | undefined;
  /** Values set by the program itself, such as command line options. */
  readonly overrides?: RawSections | undefined;
  /** Owner of the file. @default operator for a path, program for an object */
  readonly fileOf?: "operator" | "program";
  readonly ignoreSections?: readonly string[] | undefined;
  /** Called with a sentence for each given setting that was removed. */
  readonly onRemoved?: ((sentence: string) => void) | undefined;
}

type LoadedSettings<S extends readonly Section[]> = {
  readonly [X in S[number] as X["name"]]: SettingsOf<X>;
};

/** Throws one {@link SettingsError} that lists every mistake. */
export function loadSettings<const S extends readonly Section[]>(
  sections: S,
  sources: SettingsSources,
): LoadedSettings<S> {
  const mistakes: string[] = [];
  const env = withoutServiceLinks(sources.env);
  const file = typeof sources.file === "string" ? readSettingsFile(sources.file) : (sources.file ?? {});
  const path = typeof sources.file === "string" ? sources.file : null;
  const overrides = sources.overrides ?? {};
  const isOfOperator =
    (sources.fileOf ?? (typeof sources.file === "string" ? "operator" : "program")) === "operator";
  const known = withInherited(sections);
  mistakes.push(
    ...unknownKeys(path ?? "file", known, file, { ignored: sources.ignoreSections ?? [], isOfOperator }),
    ...unknownKeys("override", known, overrides, { ignored: [], isOfOperator: false }),
    ...unknownVariables(known, env),
  );
  const loaded: Record<string, unknown> = {};
  for (const section of sections) {
    const layersOf = (name: string): Layers => ({
      env,
      file: file[name],
      path,
      overrides: overrides[name],
      isOfOperator,
    });
    const layers = layersOf(section.name);
    loaded[section.name] = loadSection(section, layersOf, mistakes);
    for (const sentence of removedOnes(section, layers)) sources.onRemoved?.(sentence);
  }
  if (mistakes.length > 0) throw new SettingsError(mistakes);
  return deepFreeze(loaded) as LoadedSettings<S>;
}

interface Layers {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly file: Readonly<Record<string, unknown>> | undefined;
  readonly overrides: Readonly<Record<string, unknown>> | undefined;
  /** Path of the file; null: a program gave its values. */
  readonly path: string | null;
  /** Whether the file is an operator's, who can't change constants. */
  readonly isOfOperator: boolean;
}

type KnownSection = Pick<Section, "name" | "table" | "retired">;

function withInherited(sections: readonly Section[]): KnownSection[] {
  const known = new Map<string, KnownSection>();
  for (const section of sections) {
    known.set(section.name, section);
    for (const { inherits } of Object.values(section.table))
      if (inherits !== null) known.set(inherits.section.name, inherits.section);
  }
  return [...known.values()];
}

/** Source of a value as people name it, and the raw value. */
function rawOf(
  section: Section,
  key: string,
  layersOf: (section: string) => Layers,
): { readonly subject: string; readonly raw: unknown; readonly origin: string } {
  const setting = section.table[key]!;
  const places = [{ of: section.name, key }];
  if (setting.inherits !== null)
    places.push({ of: setting.inherits.section.name, key: setting.inherits.key });
  let raw: unknown;
  for (const { of, key: name } of places) {
    const variable = environmentName(of, name);
    const layers = layersOf(of);
    raw = pick(name, variable, layers);
    if (raw !== undefined)
      return {
        subject: `${of}.${name} (${variable})`,
        raw,
        origin: raw === own(layers.file, name) ? originOf(layers.path) : "",
      };
  }
  const subject = `${section.name}.${key} (${environmentName(section.name, key)})`;
  return { subject, raw: setting.default, origin: "" };
}

/** Names the file, for the end of a mistake. */
function originOf(path: string | null): string {
  return path === null ? "" : ` (in ${path})`;
}

function loadSection(
  section: Section,
  layersOf: (section: string) => Layers,
  mistakes: string[],
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  const before = mistakes.length;
  for (const [key, setting] of Object.entries(section.table)) {
    if (setting.removed !== null) continue;
    const { subject, raw, origin } = rawOf(section, key, layersOf);
    if (raw === undefined) {
      mistakes.push(`${subject} must be set: ${setting.description}`);
    } else if (raw === null) {
      values[key] = null;
      if (setting.default !== null) mistakes.push(`${subject} must have a value, got null${origin}`);
    } else {
      const parsed = setting.parse(raw);
      if (parsed.ok) values[key] = parsed.value;
      else mistakes.push(`${subject} ${parsed.rule}, got ${show(raw, setting)}${origin}`);
    }
  }
  // Rules and constants need all values of the section; invalid ones are already reported.
  if (mistakes.length > before) return values;
  addConstants(section, layersOf(section.name), values, mistakes);
  if (mistakes.length > before) return values;
  const { file, path } = layersOf(section.name);
  const origin = file === undefined ? "" : originOf(path);
  mistakes.push(...section.check(values).map((mistake) => `${section.name}: ${mistake}${origin}`));
  return values;
}

function addConstants(
  section: Section,
  { overrides, file, isOfOperator }: Layers,
  values: Record<string, unknown>,
  mistakes: string[],
): void {
  for (const [key, setting] of Object.entries(section.table)) {
    if (setting.removed === null) continue;
    const given = own(overrides, key) ?? (isOfOperator ? undefined : own(file, key));
    values[key] = given ?? (setting.derive === null ? setting.default : setting.derive(values));
    const parsed = setting.parse(values[key]);
    if (!parsed.ok) mistakes.push(`${section.name}.${key} ${parsed.rule}, got ${show(values[key], setting)}`);
  }
}

function removedOnes(section: Section, { env, file, isOfOperator }: Layers): string[] {
  const said = (key: string, more: string): string[] => {
    const variable = environmentName(section.name, key);
    const isGiven = (env[variable] ?? "") !== "" || (isOfOperator && own(file, key) !== undefined);
    return isGiven
      ? [`${section.name}.${key} (${variable}) is no setting any more and is ignored${more}`]
      : [];
  };
  const constants = Object.entries(section.table).flatMap(([key, { removed, default: value, derive }]) => {
    if (removed === null) return [];
    const holds = derive === null && value !== null ? `; ${JSON.stringify(value)} holds` : "";
    return said(key, `${holds}: ${removed}`);
  });
  return [...constants, ...section.retired.flatMap((key) => said(key, ""))];
}

/** The given value, including null; undefined if none. */
function pick(key: string, variable: string, layers: Layers): unknown {
  const fromEnv = layers.env[variable];
  const candidates = [
    own(layers.overrides, key),
    fromEnv === "" ? undefined : fromEnv,
    own(layers.file, key),
  ];
  return candidates.find((value) => value !== undefined);
}

function own(layer: unknown, key: string): unknown {
  if (typeof layer !== "object" || layer === null || !Object.hasOwn(layer, key)) return undefined;
  return Reflect.get(layer, key);
}

function unknownKeys(
  source: string,
  sections: readonly KnownSection[],
  raw: RawSections,
  { ignored, isOfOperator }: { readonly ignored: readonly string[]; readonly isOfOperator: boolean },
): string[] {
  const mistakes: string[] = [];
  const names = sections.map((section) => section.name);
  for (const [name, keys] of Object.entries(raw)) {
    const section = sections.find((candidate) => candidate.name === name);
    if (section === undefined) {
      if (!ignored.includes(name))
        mistakes.push(`${name} is not a section (${source})${didYouMean(name, names)}`);
    } else if (keys === null || typeof keys !== "object" || Array.isArray(keys)) {
      if (keys !== null && keys !== undefined)
        mistakes.push(`${name} (${source}) must be a table of settings, got ${JSON.stringify(keys)}`);
    } else {
      const retired = isOfOperator ? section.retired : [];
      const isKnown = (key: string): boolean => Object.hasOwn(section.table, key) || retired.includes(key);
      for (const key of Object.keys(keys).filter((candidate) => !isKnown(candidate)))
        mistakes.push(
          `${name}.${key} is not a setting (${source})${didYouMean(key, Object.keys(section.table))}`,
        );
    }
  }
  return mistakes;
}

const LINK_MARK = "_SERVICE_HOST";
/** Suffixes of the service link variables of Kubernetes (and Docker). */
const LINK = /^_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)$/;

/**
 * Removes service links, which Kubernetes injects for every Service of the namespace unless
 * enableServiceLinks is off. Those of a Service isochrone-aggregator look like settings, for example
 * ISOCHRONE_AGGREGATOR_PORT=tcp://10.0.0.1:8080.
 */
function withoutServiceLinks(env: SettingsSources["env"]): SettingsSources["env"] {
  const services = Object.keys(env)
    .filter((name) => name.startsWith("ISOCHRONE_") && name.endsWith(LINK_MARK))
    .map((name) => name.slice(0, -LINK_MARK.length));
  if (services.length === 0) return env;
  const isLink = ([name, value]: [string, string | undefined]): boolean =>
    services.some((service) => {
      if (!name.startsWith(service)) return false;
      const rest = name.slice(service.length);
      return LINK.test(rest) || (rest === "_PORT" && value?.includes("://") === true);
    });
  return Object.fromEntries(Object.entries(env).filter((entry) => !isLink(entry)));
}

function unknownVariables(sections: readonly KnownSection[], env: SettingsSources["env"]): string[] {
  const known = sections.flatMap(({ name, table, retired }) =>
    [...Object.keys(table), ...retired].map((key) => environmentName(name, key)),
  );
  const prefixes = sections.map((section) => environmentPrefix(section.name));
  return Object.keys(env)
    .filter((name) => prefixes.some((prefix) => name.startsWith(prefix)) && !known.includes(name))
    .map((name) => `${name} is not a setting (environment)${didYouMean(name, known)}`);
}

function show(raw: unknown, setting: Setting<unknown>): string {
  if (setting.kind === "secret" || raw instanceof Secret) return REDACTED;
  return typeof raw === "string" && /^[-+.\w]+$/.test(raw) ? raw : JSON.stringify(raw);
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) deepFreeze(child);
  return Object.freeze(value);
}
