// Reads service templates of TOSCA 1.3 and the supported subset of 2.0.
import { neededProperties } from "./application.ts";
import type { Capability, Draft, RouteDraft, ServiceDraft } from "./application.ts";
import { CONTAINER_PROPERTIES, imageArtifact } from "./containers.ts";
import type { Cursor } from "./cursor.ts";
import { Definitions, namesOfChain, NO_IMPORTS, type Dialect, type Scope } from "./definitions.ts";
import { ToscaError } from "./errors.ts";
import type { FileSource } from "./files.ts";
import type { Surroundings } from "./functions.ts";
import { Inputs } from "./inputs.ts";
import { isServiceType, type Mapping } from "./mapping/mapping.ts";
import { ConsequenceError, Mistakes } from "./mistakes.ts";
import { NodeTemplate } from "./node-template.ts";
import { Links, type Link } from "./routes.ts";
import { LIMITS, type Source } from "./source.ts";

interface TemplateOptions {
  readonly inputs: ReadonlyMap<string, string>;
  readonly mapping: Mapping;
  readonly profiles: readonly string[];
  readonly isGraphOnly: boolean;
}

export async function readServiceTemplate(
  source: Source,
  files: FileSource,
  options: TemplateOptions,
): Promise<Draft> {
  const definitions = new Definitions(files, source.file, options.profiles);
  const scope = await definitions.load(source);
  return new Topology(scope, definitions, options).draft();
}

const IGNORED = ["groups", "policies", "workflows", "substitution_mappings"];

class Topology implements Surroundings {
  readonly #scope: Scope;
  readonly #definitions: Definitions;
  readonly #root: Cursor;
  readonly #mapping: Mapping;
  readonly #isGraphOnly: boolean;
  readonly mistakes = new Mistakes();
  readonly #inputs: Inputs;
  /** Undefined: unreadable, already reported. */
  readonly #templates = new Map<string, NodeTemplate | undefined>();
  readonly #notes: string[];
  readonly #links: Links;
  #depth = 0;

  constructor(scope: Scope, definitions: Definitions, options: TemplateOptions) {
    this.#scope = scope;
    this.#definitions = definitions;
    this.#mapping = options.mapping;
    this.#isGraphOnly = options.isGraphOnly;
    const key = scope.dialect === "2.0" ? "service_template" : "topology_template";
    const root = scope.root.either(key, "service_template", "topology_template");
    if (root === null) throw scope.root.error("malformed", `must have a ${key}`);
    this.#root = root.map();
    this.#inputs = new Inputs(root, options.inputs, this.mistakes);
    this.#notes = definitions.notes;
    for (const part of IGNORED)
      if (root.get(part) !== null) this.#notes.push(`${part} of the template are not read`);
    const listed = new Map(root.get("node_templates")?.entries() ?? []);
    for (const [name, at] of listed)
      this.#templates.set(
        name,
        this.mistakes.attempt(() => new NodeTemplate(name, copied(at, listed), scope, this.#of(name))),
      );
    this.#links = new Links({
      scope,
      root,
      mapping: options.mapping,
      notes: this.#notes,
      templates: this.#templates,
      surroundingsOf: (name) => this.#of(name),
    });
  }

  get #known(): readonly NodeTemplate[] {
    return [...this.#templates.values()].filter((template) => template !== undefined);
  }

  draft(): Draft {
    if (this.#scope.gaps.includes(NO_IMPORTS) && this.#scope.unknown.size > 0)
      this.#notes.push("the template imports nothing: its types are known by their names alone");
    const named = new Set(this.#known.filter((each) => this.mistakes.attempt(() => this.#isNamed(each))));
    const mapped = this.#known.filter((each) => this.mistakes.attempt(() => this.#isMapped(each)));
    const services = new Set([...named, ...mapped]);
    const links = [...services].flatMap((each) => this.#linksOf(each));
    const others = this.#known.filter((each) => !services.has(each));
    const otherLinks = others.flatMap((each) => this.#quietLinksOf(each));
    if (named.size === 0) this.#guess(services, [...links, ...otherLinks]);
    links.push(...otherLinks.filter(({ kind, source }) => kind === "host" || services.has(source)));
    const hosts = this.#dropHosts(services, named, links);
    const carriedBy = Map.groupBy(
      links.filter(({ target }) => hosts.has(target)),
      ({ source }) => source,
    );
    const left = this.#known.filter((each) => !services.has(each) && !hosts.has(each));
    if (left.length > 0) this.#notes.push(`no services by their types, left out: ${described(left)}`);
    const routes = links
      .filter(({ kind }) => kind === "channel")
      .flatMap((link) => this.mistakes.attempt(() => this.#route(link, services)) ?? []);
    return {
      root: this.#root,
      name: this.mistakes.attempt(() => this.#name()) ?? null,
      services: this.#known
        .filter((each) => services.has(each))
        .map((each) => this.#service(each, carriedBy.get(each) ?? [])),
      routes,
      notes: this.#notes,
      mistakes: this.mistakes,
    };
  }

  /** Whether a Kubernetes capability or the user's mapping makes it a service. */
  #isNamed(template: NodeTemplate): boolean {
    const chain = namesOfChain(template.type, this.#scope);
    if (this.#mapping.named.hasAny(chain)) return isServiceType(chain, this.#mapping);
    const hasRole = (role: string): boolean =>
      template.capabilityNames().some((name) =>
        // Unknown types are reported where the capability is read.
        attempted(() => template.capabilityTypes(name))?.includes(role),
      );
    return hasRole("Deployment") || (hasRole("Service") && isServiceType(chain, this.#mapping));
  }

  #isMapped(template: NodeTemplate): boolean {
    return isServiceType(namesOfChain(template.type, this.#scope), this.#mapping);
  }

  #linksOf(source: NodeTemplate): Link[] {
    const requirements = this.mistakes.attempt(() => source.requirements()) ?? [];
    return requirements.flatMap((requirement) => {
      const link = (): Link | null => this.#links.of(source, requirement);
      // Mistakes in requirements only defined by the type do not matter.
      return (requirement.at === null ? attempted(link) : this.mistakes.attempt(link)) ?? [];
    });
  }

  /** Links of a possible non-service, whose mistakes do not matter. */
  #quietLinksOf(source: NodeTemplate): Link[] {
    return (attempted(() => source.requirements()) ?? []).flatMap(
      (requirement) => attempted(() => this.#links.of(source, requirement)) ?? [],
    );
  }

  /** Adds to `services` unmapped templates with channels or container images, except infrastructure. */
  #guess(services: Set<NodeTemplate>, links: readonly Link[]): void {
    const ends = endsOf(links);
    const guessed = this.#known.filter((each) => {
      if (services.has(each)) return false;
      const chain = attempted(() => namesOfChain(each.type, this.#scope));
      if (chain === null || this.#mapping.others.hasAny(chain)) return false;
      return ends.has(each) || attempted(() => imageArtifact(each.at)) !== null;
    });
    for (const each of guessed) services.add(each);
    if (guessed.length > 0)
      this.#notes.push(
        `taken as services, by their channels and container images alone: ${described(guessed)}`,
      );
  }

  /** Removes hosts of a service without channels: both are one workload. */
  #dropHosts(
    services: Set<NodeTemplate>,
    named: ReadonlySet<NodeTemplate>,
    links: readonly Link[],
  ): ReadonlySet<NodeTemplate> {
    const ends = endsOf(links.filter(({ source }) => services.has(source)));
    const hostsOf = Map.groupBy(
      links.filter(({ kind }) => kind === "host"),
      ({ source }) => source,
    );
    const carriers = new Set<NodeTemplate>();
    const queue = [...services];
    for (const each of queue)
      for (const { target } of hostsOf.get(each) ?? []) {
        if (carriers.has(target)) continue;
        carriers.add(target);
        queue.push(target);
      }
    const hosts = [...carriers].filter((each) => services.has(each) && !ends.has(each) && !named.has(each));
    for (const each of hosts) services.delete(each);
    if (hosts.length > 0) this.#notes.push(`hosts of services, left out: ${described(hosts)}`);
    return new Set(hosts);
  }

  #service(template: NodeTemplate, hosts: readonly Link[]): ServiceDraft {
    const capabilities = template
      .capabilityNames()
      .flatMap((name) => this.mistakes.attempt(() => this.#capability(template, name)) ?? []);
    if (!this.#isGraphOnly) template.checkCapabilities();
    return {
      template: template.name,
      at: template.at,
      capabilities,
      container: this.#isGraphOnly ? null : this.#container(template, capabilities),
      hosts: hosts.map(({ target }) => target.name),
    };
  }

  #container(template: NodeTemplate, capabilities: readonly Capability[]): Map<string, Cursor> | null {
    if (capabilities.some(({ types }) => types.includes("Deployment"))) return null;
    const artifact = this.mistakes.attempt(() => imageArtifact(template.at));
    if (artifact === undefined || (artifact === null && !template.hasProperty("image"))) return null;
    const properties = template.properties(CONTAINER_PROPERTIES);
    const file = artifact?.get("file") ?? null;
    if (!properties.has("image") && file !== null) properties.set("image", file);
    return properties.has("image") ? properties : null;
  }

  #capability(template: NodeTemplate, name: string): Capability {
    const types = template.capabilityTypes(name);
    const needed = neededProperties(types, this.#isGraphOnly);
    if (needed?.length === 0) return { types, properties: new Map() };
    const assigned = template.capability(name);
    return { types, properties: needed === null ? assigned.all(template.at) : assigned.some(needed) };
  }

  #route(link: Link, services: ReadonlySet<NodeTemplate>): RouteDraft | null {
    const { source, target } = link;
    const other = [source, target].find((each) => !services.has(each));
    if (other === undefined) return link.route();
    this.#notes.push(`${source.name} -> ${target.name}: no channel, ${other.name} is no Service`);
    return null;
  }

  dialectOf(cursor: Cursor): Dialect {
    return this.#definitions.scopeOf(cursor).dialect;
  }

  input(name: string, at: Cursor): unknown {
    return this.#inputs.value(name, at);
  }

  property(path: readonly string[], at: Cursor): { value: unknown; rest: readonly string[] } {
    const [entity = "", first, ...rest] = path;
    const template = this.#templates.get(entity);
    if (template === undefined && this.#templates.has(entity)) throw new ConsequenceError(entity);
    if (template === undefined)
      throw at.error("unresolved", `must name SELF or a node template, got ${JSON.stringify(entity)}`);
    if (first === undefined) throw at.error("malformed", "must name a property");
    if (++this.#depth > LIMITS.nesting)
      throw at.error("too_large", `must be worked out over at most ${LIMITS.nesting} properties, got more`);
    try {
      return propertyOf(template, [first, ...rest], at);
    } finally {
      this.#depth--;
    }
  }

  #of(self: string): Surroundings {
    return {
      mistakes: this.mistakes,
      dialectOf: (cursor) => this.dialectOf(cursor),
      input: (name, at) => this.input(name, at),
      property: ([entity = "", ...path], at) =>
        this.property([entity === "SELF" ? self : entity, ...path], at),
    };
  }

  #name(): string | null {
    const { root } = this.#scope;
    return (root.get("metadata")?.get("template_name") ?? root.get("template_name"))?.text() ?? null;
  }
}

/** Null if it throws a ToscaError, which does not matter here. */
function attempted<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof ToscaError) return null;
    throw error;
  }
}

/** Resolves a node template's `copy`; own keys win. Throws ToscaError. */
function copied(at: Cursor, templates: ReadonlyMap<string, Cursor>): Cursor {
  const levels: object[] = [];
  for (let each = at; ;) {
    levels.unshift(Object.fromEntries(each.entries().map(([key, { value }]) => [key, value])));
    const from = each.get("copy");
    if (from === null) break;
    const original = templates.get(from.text());
    if (original === undefined || levels.length > LIMITS.nesting)
      throw from.fail(
        `must name another node template, over at most ${LIMITS.nesting} of them`,
        "unresolved",
      );
    each = original;
  }
  return levels.length === 1 ? at : at.with(Object.assign({}, ...levels));
}

function endsOf(links: readonly Link[]): Set<NodeTemplate> {
  const channels = links.filter(({ kind }) => kind === "channel");
  return new Set(channels.flatMap(({ source, target }) => [source, target]));
}

const MAX_DESCRIBED = 20;

function described(templates: readonly NodeTemplate[]): string {
  const some = templates.slice(0, MAX_DESCRIBED).map(({ name, type }) => `${name} (${type.name})`);
  const more = templates.length - some.length;
  return `${some.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

/** Property of the node template, else of one of its capabilities. */
function propertyOf(
  template: NodeTemplate,
  [first = "", ...rest]: readonly string[],
  at: Cursor,
): { value: unknown; rest: readonly string[] } {
  const own = template.property(first);
  if (own !== undefined) return { value: own.value, rest };
  // 2.0 writes CAPABILITY before the name.
  const [capability, name = "", ...inner] = first === "CAPABILITY" ? rest : [first, ...rest];
  const value =
    capability !== undefined && template.hasCapability(capability)
      ? template.capability(capability).get(name)
      : undefined;
  if (value === undefined)
    throw at.error(
      "unresolved",
      `must name a property that has a value, got ${JSON.stringify([template.name, first, ...rest].join("."))}`,
    );
  return { value: value.value, rest: inner };
}
