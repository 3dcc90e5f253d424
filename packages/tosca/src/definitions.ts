// The files of a template: which types are known in each, by which name.
import { dirname, isAbsolute, join, normalize } from "node:path";
import { Cursor } from "./cursor.ts";
import type { FileSource } from "./files.ts";
import { Mistakes } from "./mistakes.ts";
import { builtInProfile, KUBERNETES_NAME, profileNames, standInProfile } from "./profiles.ts";
import { LIMITS, parseSource, type Source } from "./source.ts";

const TYPE_KINDS = ["node_types", "capability_types", "relationship_types"] as const;
type TypeKind = (typeof TYPE_KINDS)[number];

/** In which version of TOSCA a file is written: functions look different. */
export type Dialect = "1.3" | "2.0";

/** A type as its file defines it. */
export interface TypeDefinition {
  readonly kind: TypeKind;
  /** Without prefixes. */
  readonly name: string;
  /** Null: one of TOSCA's own, of which only the name matters. */
  readonly definition: { readonly at: Cursor; readonly scope: Scope } | null;
}

/** What is known in a file. */
export interface Scope {
  readonly root: Cursor;
  readonly dialect: Dialect;
  readonly types: ReadonlyMap<TypeKind, ReadonlyMap<string, TypeDefinition>>;
}

type Types = ReadonlyMap<TypeKind, Map<string, TypeDefinition>>;

const DIALECTS: Readonly<Record<string, Dialect>> = {
  tosca_simple_yaml_1_0: "1.3",
  tosca_simple_yaml_1_1: "1.3",
  tosca_simple_yaml_1_2: "1.3",
  tosca_simple_yaml_1_3: "1.3",
  tosca_2_0: "2.0",
};

/** Types of TOSCA that may be named without `tosca.…`. */
const NORMATIVE = new Set(
  (
    "Root DependsOn HostedOn ConnectsTo AttachesTo RoutesTo BindsTo LinksTo Node Compute Container Endpoint Network Storage Scalable " +
    "OperatingSystem Bindable Linkable SoftwareComponent WebServer WebApplication DBMS Database LoadBalancer Port Abstract.Compute"
  ).split(" "),
);

/** A template's file with all that it imports. */
export class Definitions {
  readonly notes: string[] = [];
  /** Of imports; those of all files are said at once. */
  readonly mistakes = new Mistakes();
  readonly #files: FileSource;
  readonly #scopes = new Map<string, Scope>();
  readonly #bySource = new Map<Source, Scope>();
  #read = 0;

  constructor(files: FileSource) {
    this.#files = files;
  }

  /** Throws ToscaError. */
  async load(source: Source): Promise<Scope> {
    const scope = await this.#load(source, []);
    // Without a file its types are unknown, too: nothing beyond this is worth saying.
    this.mistakes.check();
    return scope;
  }

  async #load(source: Source, importers: readonly string[]): Promise<Scope> {
    const root = new Cursor(source);
    const dialect = dialectOf(root);
    const types: Types = new Map(TYPE_KINDS.map((kind) => [kind, new Map()]));
    for (const each of root.get("imports")?.children() ?? []) {
      try {
        const { name, prefix } = importOf(each);
        const scope = await this.#import(name, each, [...importers, source.file]);
        for (const kind of TYPE_KINDS)
          for (const [local, type] of scope.types.get(kind)!)
            addType(types, kind, prefix === null ? local : `${prefix}:${local}`, type, each);
      } catch (error) {
        this.mistakes.add(error);
      }
    }
    const scope: Scope = { root, dialect, types };
    for (const kind of TYPE_KINDS)
      for (const [name, at] of root.get(kind)?.entries() ?? [])
        // Its own types win over imported ones of the same name.
        types.get(kind)!.set(name, { kind, name, definition: { at, scope } });
    this.#bySource.set(source, scope);
    return scope;
  }

  /** The scope of the file that the value stands in. */
  scopeOf(cursor: Cursor): Scope {
    return this.#bySource.get(cursor.source)!;
  }

  async #import(name: string, at: Cursor, importers: readonly string[]): Promise<Scope> {
    const from = importers.at(-1)!;
    const path = builtInProfile(name) === null ? localPath(name, from, at) : name;
    if (importers.includes(path)) {
      const circle = [...importers.slice(importers.indexOf(path)), path].join(" -> ");
      throw at.error("circular", `must not import a file that imports it, got ${circle}`);
    }
    const known = this.#scopes.get(path);
    if (known !== undefined) return known;
    if (++this.#read > LIMITS.files)
      throw at.error("too_large", `must not bring more than ${LIMITS.files} files, got more`);
    const scope = await this.#load(parseSource(await this.#text(path, name, at), path), importers);
    this.#scopes.set(path, scope);
    return scope;
  }

  async #text(path: string, name: string, at: Cursor): Promise<string> {
    const text = builtInProfile(path) ?? (await this.#files.read(path));
    if (text !== null) return text;
    const standIn = standInProfile(name);
    if (standIn === null)
      throw at.error(
        "unresolved",
        `must name a file that is there, or one of ${profileNames().join(", ")}, got ${path}`,
      );
    this.notes.push(`${name} isn't there: Isochrone's own types of the Kubernetes profile are taken`);
    return standIn;
  }
}

/** The type of that name in the scope. Throws ToscaError. */
export function typeNamed(scope: Scope, kind: TypeKind, name: string, at: Cursor): TypeDefinition {
  const found = scope.types.get(kind)!.get(name);
  if (found !== undefined) return found;
  if (/^tosca[.:]/.test(name) || NORMATIVE.has(name))
    return { kind, name: localName(name), definition: null };
  const known = [...scope.types.get(kind)!.keys()].sort().slice(0, 12);
  const hint = kind === "node_types" && known.length === 0 ? `; ${SERVICE_TYPE_HINT}` : "";
  throw at.error(
    "unresolved",
    `must name one of the ${kind} (${known.join(", ") || "there are none"}), got ${JSON.stringify(name)}${hint}`,
  );
}

/** How a node template becomes a workload, for whoever has none. */
export const SERVICE_TYPE_HINT = `a Service is what has the type k8s:Service or one derived from it: import { file: "${KUBERNETES_NAME}", namespace_prefix: k8s }, and declare your own as node_types: { Web: { derived_from: k8s:Service } }`;

const chains = new WeakMap<TypeDefinition, readonly TypeDefinition[]>();

/** The type and what it is derived from, the base last. Throws ToscaError `circular`. */
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
 * Without prefixes and namespaces: `k8s:Route`, `kubernetes::Route` and `tosca.relationships.Route` are
 * `Route`.
 */
export function localName(name: string): string {
  return name.slice(Math.max(name.lastIndexOf(":"), name.lastIndexOf(".")) + 1);
}

function parentOf({ kind, definition }: TypeDefinition): TypeDefinition | null {
  const parent = definition?.at.get("derived_from");
  return parent ? typeNamed(definition!.scope, kind, parent.text(), parent) : null;
}

function dialectOf(root: Cursor): Dialect {
  const version = root.map().get("tosca_definitions_version");
  if (version === null)
    throw root.error(
      "malformed",
      "must be a TOSCA service template (with tosca_definitions_version) or a Clout (with vertexes)",
    );
  const known = Object.hasOwn(DIALECTS, version.text()) ? DIALECTS[version.text()] : undefined;
  if (known === undefined)
    throw version.fail(`must be one of ${Object.keys(DIALECTS).join(", ")}`, "unsupported");
  return known;
}

/**
 * `file`, `{file, namespace_prefix}`, `{url, namespace}`, `{profile, namespace}`, or `name: <one of these>`.
 */
function importOf(at: Cursor): { name: string; prefix: string | null } {
  if (!at.isMap) return { name: at.text(), prefix: null };
  if (at.get("repository") !== null)
    throw at.error("unsupported", "must not name a repository: only files of this machine are imported");
  const name = at.either("file", "url", "profile");
  if (name !== null)
    return { name: name.text(), prefix: at.either("namespace_prefix", "namespace")?.text() ?? null };
  const [entry, ...others] = at.entries();
  if (entry === undefined || others.length > 0) throw at.fail("must have one of file, url, profile");
  return importOf(entry[1]);
}

function localPath(name: string, from: string, at: Cursor): string {
  const path = name.startsWith("file://") ? decodeURIComponent(new URL(name).pathname) : name;
  if (/^[a-z][a-z0-9+.-]*:/i.test(path))
    throw at.error(
      "unsupported",
      `must be a file of this machine, or one of ${profileNames().join(", ")}: nothing is fetched over the network, got ${JSON.stringify(name)}`,
    );
  return isAbsolute(path) ? normalize(path) : join(dirname(from), path);
}

function addType(types: Types, kind: TypeKind, name: string, type: TypeDefinition, at: Cursor): void {
  const before = types.get(kind)!.get(name);
  if (before !== undefined && before !== type) {
    const places = [before, type].map(({ definition }) => definition!.at.source.file).join(" and ");
    throw at.error("invalid_value", `must not bring a second ${name} (${kind} of ${places}): give a prefix`);
  }
  types.get(kind)!.set(name, type);
}
