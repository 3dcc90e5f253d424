// Resolves a template's imports: the types known in each file, by name.
import { Cursor } from "./cursor.ts";
import { shown, type ToscaError } from "./errors.ts";
import type { FileSource } from "./files.ts";
import { ImportFinder } from "./profiles/imports.ts";
import { Mistakes } from "./mistakes.ts";
import { builtInProfile, KUBERNETES_NAME, standInProfile } from "./profiles/profiles.ts";
import { LIMITS, parseSource, type Source } from "./source.ts";
import { SIMPLE_PROFILE } from "./profiles/stand-ins.ts";

const TYPE_KINDS = ["node_types", "capability_types", "relationship_types"] as const;
type TypeKind = (typeof TYPE_KINDS)[number];

/** TOSCA version of a file, which determines function syntax. */
export type Dialect = "1.3" | "2.0";

export interface TypeDefinition {
  readonly kind: TypeKind;
  /** Name in its file; if the file is missing, the name as used. */
  readonly name: string;
  readonly definition: { readonly at: Cursor; readonly scope: Scope } | null;
  readonly fullNames: readonly string[];
  /** Another type has the same name; thrown on use. */
  readonly conflict?: ToscaError;
}

export interface Scope {
  readonly root: Cursor;
  readonly dialect: Dialect;
  readonly types: ReadonlyMap<TypeKind, ReadonlyMap<string, TypeDefinition>>;
  readonly isOpen: boolean;
  readonly gaps: readonly Gap[];
  /** Types possibly defined in missing imports, by kind and name. */
  readonly unknown: Map<string, TypeDefinition>;
}

interface Gap {
  readonly name: string;
  readonly prefix: string | null;
}

type Types = ReadonlyMap<TypeKind, Map<string, TypeDefinition>>;

const DIALECTS: Readonly<Record<string, Dialect>> = {
  tosca_simple_yaml_1_0: "1.3",
  tosca_simple_yaml_1_1: "1.3",
  tosca_simple_yaml_1_2: "1.3",
  tosca_simple_yaml_1_3: "1.3",
  tosca_2_0: "2.0",
};

/** Represents the imports of a template with neither imports nor node types. */
export const NO_IMPORTS: Gap = { name: "", prefix: null };

interface ImportedFile {
  readonly path: string;
  readonly text: string;
  readonly isOpen: boolean;
}

export class Definitions {
  readonly notes: string[] = [];
  readonly mistakes = new Mistakes();
  readonly #finder: ImportFinder;
  readonly #gaps: Gap[] = [];
  readonly #scopes = new Map<string, Scope>();
  readonly #bySource = new Map<Source, Scope>();
  /** Circular imports, whose types are added once all files are read. */
  readonly #circular: { into: Types; path: string; prefix: string | null; at: Cursor }[] = [];
  #read = 0;
  #imports = 0;

  constructor(files: FileSource, template: string, folders: readonly string[] = []) {
    this.#finder = new ImportFinder(files, template, folders);
  }

  async load(source: Source): Promise<Scope> {
    const scope = await this.#load(source, [], false);
    if (scope.root.get("imports") === null && scope.types.get("node_types")!.size === 0)
      this.#gaps.push(NO_IMPORTS);
    this.#scopes.set(source.file, scope);
    for (const { into, path, prefix, at } of this.#circular)
      addTypes(into, this.#scopes.get(path), prefix, at);
    // Further errors after a missing file would be misleading.
    this.mistakes.check();
    this.notes.push(...this.#finder.notes);
    return scope;
  }

  async #load(source: Source, importers: readonly string[], isOpen: boolean): Promise<Scope> {
    const root = new Cursor(source);
    const dialect = this.#dialectOf(root, importers.length > 0);
    const types: Types = new Map(TYPE_KINDS.map((kind) => [kind, new Map()]));
    const unknown = new Map<string, TypeDefinition>();
    const scope: Scope = { root, dialect, types, isOpen, gaps: this.#gaps, unknown };
    for (const each of root.get("imports")?.children() ?? []) {
      try {
        await this.#import(each, types, [...importers, source.file]);
      } catch (error) {
        this.mistakes.add(error);
      }
    }
    addOwnTypes(scope, types);
    this.#bySource.set(source, scope);
    return scope;
  }

  scopeOf(cursor: Cursor): Scope {
    return this.#bySource.get(cursor.source) ?? simpleProfile();
  }

  async #import(at: Cursor, into: Types, importers: readonly string[]): Promise<void> {
    const { name, prefix } = importOf(at);
    if (++this.#imports > LIMITS.imports)
      throw at.error("too_large", `must not be more than ${LIMITS.imports} imports, got more`);
    const file = await this.#fileOf(name, importers.at(-1)!);
    if (file === null) this.#gaps.push({ name, prefix });
    else if (importers.includes(file.path)) this.#circular.push({ into, path: file.path, prefix, at });
    else addTypes(into, await this.#loadOnce(file, importers, at), prefix, at);
  }

  async #loadOnce(
    { path, text, isOpen }: ImportedFile,
    importers: readonly string[],
    at: Cursor,
  ): Promise<Scope> {
    const known = this.#scopes.get(path);
    if (known !== undefined) return known;
    if (++this.#read > LIMITS.files)
      throw at.error("too_large", `must not bring more than ${LIMITS.files} files, got more`);
    const scope = await this.#load(parseSource(text, path), importers, isOpen);
    this.#scopes.set(path, scope);
    return scope;
  }

  async #fileOf(name: string, from: string): Promise<ImportedFile | null> {
    const builtIn = builtInProfile(name);
    if (builtIn !== null) return { path: name, text: builtIn, isOpen: false };
    const found = await this.#finder.find(name, from);
    if (found !== null) return { ...found, isOpen: false };
    const standIn = standInProfile(name);
    const note = `${name} isn't there: ${standIn?.note ?? "its types are known by their names alone"}`;
    if (!this.notes.includes(note)) this.notes.push(note);
    return standIn === null ? null : { path: name, text: standIn.text, isOpen: standIn.isOpen };
  }

  /** Unnamed versions are recognized by form: 1.3 has `topology_template`, 2.0 `service_template`. */
  #dialectOf(root: Cursor, isImported: boolean): Dialect {
    const version = root.map().get("tosca_definitions_version");
    if (version === null && isImported) return "1.3";
    if (version === null)
      throw root.error(
        "malformed",
        "must be a TOSCA service template (with tosca_definitions_version) or a Clout (with vertexes)",
      );
    const known = Object.hasOwn(DIALECTS, String(version.value))
      ? DIALECTS[String(version.value)]
      : undefined;
    if (known !== undefined) return known;
    const dialect = root.get("service_template") !== null ? "2.0" : "1.3";
    if (isImported) return dialect;
    if (PARTS.every((part) => root.get(part) === null))
      throw version.fail(`must be one of ${Object.keys(DIALECTS).join(", ")}`, "unsupported");
    this.notes.push(`tosca_definitions_version ${shown(version.value)} isn't known: read as ${dialect}`);
    return dialect;
  }
}

/** A file with one of these keys is TOSCA, whatever version it names. */
const PARTS = ["topology_template", "service_template", ...TYPE_KINDS];

function addTypes(into: Types, from: Scope | undefined, prefix: string | null, at: Cursor): void {
  for (const kind of TYPE_KINDS)
    for (const [name, type] of from?.types.get(kind) ?? [])
      addType(into, kind, prefix === null ? name : `${prefix}:${name}`, type, at);
}

function addOwnTypes(scope: Scope, types: Types): void {
  const { root } = scope;
  const profile = root.either("profile", "namespace")?.value;
  for (const kind of TYPE_KINDS)
    for (const [name, at] of root.get(kind)?.entries() ?? []) {
      const fullNames = typeof profile === "string" ? fullNamesOf(profile, name) : [];
      types.get(kind)!.set(name, { kind, name, definition: { at, scope }, fullNames });
    }
}

/** With and without the profile's version. */
function fullNamesOf(profile: string, name: string): string[] {
  return [`${profile}:${name}`, `${profile.replace(/:[\w.-]+$/, "")}:${name}`];
}

let simple: Scope | undefined;

function simpleProfile(): Scope {
  if (simple !== undefined) return simple;
  const root = new Cursor(parseSource(SIMPLE_PROFILE, "tosca"));
  const types: Types = new Map(TYPE_KINDS.map((kind) => [kind, new Map()]));
  simple = { root, dialect: "1.3", types, isOpen: true, gaps: [], unknown: new Map() };
  addOwnTypes(simple, types);
  return simple;
}

const NORMATIVE_PREFIXES: Readonly<Record<TypeKind, string>> = {
  node_types: "tosca.nodes.",
  capability_types: "tosca.capabilities.",
  relationship_types: "tosca.relationships.",
};

/** Finds a type by full name, or as `tosca:WebServer`, `WebServer`, `network.Port` or `Port`. */
function normativeType(kind: TypeKind, name: string): TypeDefinition | undefined {
  const types = simpleProfile().types.get(kind)!;
  const local = name.replace(/^tosca::?/, "");
  const prefix = NORMATIVE_PREFIXES[kind];
  return types.get(name) ?? types.get(`${prefix}${local}`) ?? types.get(`${prefix}network.${local}`);
}

function namedType(scope: Scope, kind: TypeKind, name: string): TypeDefinition {
  const key = `${kind} ${name}`;
  let type = scope.unknown.get(key);
  if (type === undefined) {
    const gap = scope.gaps.find(({ prefix }) => prefix !== null && name.startsWith(`${prefix}:`));
    const fullNames = gap?.prefix ? fullNamesOf(gap.name, name.slice(gap.prefix.length + 1)) : [];
    type = { kind, name, definition: null, fullNames };
    scope.unknown.set(key, type);
  }
  return type;
}

export function typeNamed(scope: Scope, kind: TypeKind, name: string, at: Cursor): TypeDefinition {
  const found = scope.types.get(kind)!.get(name) ?? normativeType(kind, name);
  if (found?.conflict !== undefined) throw found.conflict;
  if (found !== undefined) return found;
  if (/^tosca[.:]/.test(name) || scope.gaps.length > 0) return namedType(scope, kind, name);
  const known = [...scope.types.get(kind)!.keys()].sort().slice(0, 12);
  const hint = kind === "node_types" && known.length === 0 ? `; ${SERVICE_TYPE_HINT}` : "";
  throw at.error(
    "unresolved",
    `must name one of the ${kind} (${known.join(", ") || "there are none"}), got ${JSON.stringify(name)}${hint}`,
  );
}

const aliases = new WeakMap<Scope, ReadonlyMap<TypeDefinition, readonly string[]>>();

/** Names of the type's chain, as a mapping may call them in the template's file. */
export function namesOfChain(type: TypeDefinition, scope: Scope): string[][] {
  let known = aliases.get(scope);
  if (known === undefined) {
    const pairs = [...scope.types.values()].flatMap((types) => [...types]);
    const byType = Map.groupBy(pairs, ([, each]) => each);
    known = new Map([...byType].map(([each, several]) => [each, several.map(([name]) => name)]));
    aliases.set(scope, known);
  }
  return chainOf(type).map((each) => [
    ...new Set([each.name, ...each.fullNames, ...(known.get(each) ?? [])]),
  ]);
}

export const SERVICE_TYPE_HINT = `a Service is what has the type k8s:Service or one derived from it: import { file: "${KUBERNETES_NAME}", namespace_prefix: k8s }, and declare your own as node_types: { Web: { derived_from: k8s:Service } }`;

const chains = new WeakMap<TypeDefinition, readonly TypeDefinition[]>();

/** The type and its ancestors, base last. Throws ToscaError `circular`. */
export function chainOf(type: TypeDefinition): readonly TypeDefinition[] {
  const known = chains.get(type);
  if (known !== undefined) return known;
  const chain: TypeDefinition[] = [];
  for (let each: TypeDefinition | null = type; each !== null; each = parentOf(each)) {
    if (chain.includes(each)) {
      const circle = [...chain.slice(chain.indexOf(each)), each].map(({ name }) => name).join(" -> ");
      throw each.definition!.at.error("circular", `must not be derived from itself, got ${circle}`);
    }
    chain.push(each);
    if (chain.length > LIMITS.nesting)
      throw type.definition!.at.error(
        "too_large",
        `must be derived over at most ${LIMITS.nesting} types, got more`,
      );
  }
  chains.set(type, chain);
  return chain;
}

/**
 * Strips prefixes and namespaces: `k8s:Route`, `kubernetes::Route` and `tosca.relationships.Route` become
 * `Route`.
 */
export function localName(name: string): string {
  return name.slice(Math.max(name.lastIndexOf(":"), name.lastIndexOf(".")) + 1);
}

function parentOf({ kind, definition }: TypeDefinition): TypeDefinition | null {
  const parent = definition?.at.get("derived_from");
  return parent ? typeNamed(definition!.scope, kind, parent.text(), parent) : null;
}

/**
 * `file`, `{file, namespace_prefix}`, `{url, namespace}`, `{profile, namespace}`, or `name: <one of these>`.
 */
function importOf(at: Cursor): { name: string; prefix: string | null } {
  if (!at.isMap) return { name: at.text(), prefix: null };
  const name = at.either("file", "url", "profile");
  if (name !== null)
    return { name: name.text(), prefix: at.either("namespace_prefix", "namespace")?.text() ?? null };
  const [entry, ...others] = at.entries();
  if (entry === undefined || others.length > 0) throw at.fail("must have one of file, url, profile");
  return importOf(entry[1]);
}

/** A duplicate name is an error only on use. */
function addType(types: Types, kind: TypeKind, name: string, type: TypeDefinition, at: Cursor): void {
  const before = types.get(kind)!.get(name);
  if (before !== undefined && before !== type) {
    const places = [before, type].map(({ definition }) => definition!.at.source.file).join(" and ");
    const rule = `must not bring a second ${name} (${kind} of ${places}): give a prefix`;
    types.get(kind)!.set(name, { ...type, conflict: at.error("invalid_value", rule) });
    return;
  }
  types.get(kind)!.set(name, type);
}
