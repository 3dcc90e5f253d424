// Service templates of TOSCA 1.3, and those of 2.0 that stay within what is read.
import type { Capability, Draft, RouteDraft } from "./application.ts";
import type { Cursor } from "./cursor.ts";
import {
  chainOf,
  Definitions,
  localName,
  typeNamed,
  type Dialect,
  type Scope,
  type TypeDefinition,
} from "./definitions.ts";
import type { FileSource } from "./files.ts";
import type { Surroundings } from "./functions.ts";
import { inputsOf, type Inputs } from "./inputs.ts";
import { ConsequenceError, Mistakes } from "./mistakes.ts";
import { Assigned, NodeTemplate, type Requirement } from "./node-template.ts";
import { ROUTE_TYPES } from "./route-types.ts";
import { LIMITS, type Source } from "./source.ts";
import { isClosed, memberType, propertiesOf } from "./type-members.ts";

/** Reads a service template with its imports. Throws ToscaError. */
export async function readServiceTemplate(
  source: Source,
  files: FileSource,
  inputs: ReadonlyMap<string, string>,
): Promise<Draft> {
  const definitions = new Definitions(files);
  const scope = await definitions.load(source);
  return new Topology(scope, definitions, inputs).draft();
}

interface Relationship {
  readonly type: TypeDefinition;
  /** Null: it has no properties of its own. */
  readonly assignment: Cursor | null;
}

/** Parts that are passed over. */
const IGNORED = ["groups", "policies", "workflows", "substitution_mappings"];

class Topology implements Surroundings {
  readonly #scope: Scope;
  readonly #definitions: Definitions;
  readonly #root: Cursor;
  readonly mistakes = new Mistakes();
  readonly #inputs: Inputs;
  /** Undefined where something is wrong with it that has been said. */
  readonly #templates = new Map<string, NodeTemplate | undefined>();
  readonly #notes: string[];
  /** How many values are being worked out of each other. */
  #depth = 0;

  constructor(scope: Scope, definitions: Definitions, given: ReadonlyMap<string, string>) {
    this.#scope = scope;
    this.#definitions = definitions;
    const key = scope.dialect === "2.0" ? "service_template" : "topology_template";
    const root = scope.root.get(key);
    if (root === null) throw scope.root.error("malformed", `must have a ${key}`);
    this.#root = root.map();
    this.#inputs = inputsOf(root, given, this.mistakes);
    this.#notes = definitions.notes;
    for (const part of IGNORED)
      if (root.get(part) !== null) this.#notes.push(`${part} of the template are not read`);
    for (const [name, at] of root.get("node_templates")?.entries() ?? [])
      this.#templates.set(
        name,
        this.mistakes.attempt(() => new NodeTemplate(name, at, scope, this.#of(name))),
      );
  }

  get #known(): readonly NodeTemplate[] {
    return [...this.#templates.values()].filter((template) => template !== undefined);
  }

  draft(): Draft {
    const services = this.#known.filter((template) => this.mistakes.attempt(() => template.isService));
    for (const service of services) this.mistakes.attempt(() => service.checkSubset());
    const others = this.#known.filter((template) => !services.includes(template));
    if (others.length > 0)
      this.#notes.push(
        `no Services (by a type derived from k8s:Service), left out: ${others.map(({ name }) => name).join(", ")}`,
      );
    return {
      root: this.#root,
      name: this.mistakes.attempt(() => this.#name()) ?? null,
      services: services.map((template) => ({
        template: template.name,
        at: template.at,
        capabilities: template
          .capabilityNames()
          .flatMap((name) => this.mistakes.attempt(() => capabilityOf(template, name)) ?? []),
      })),
      routes: services.flatMap((template) => this.#routes(template)),
      notes: this.#notes,
      mistakes: this.mistakes,
    };
  }

  #routes(source: NodeTemplate): RouteDraft[] {
    const requirements = this.mistakes.attempt(() => source.requirements()) ?? [];
    return requirements.flatMap(
      (requirement) => this.mistakes.attempt(() => this.#route(source, requirement)) ?? [],
    );
  }

  dialectOf(cursor: Cursor): Dialect {
    return this.#definitions.scopeOf(cursor).dialect;
  }

  input(name: string, at: Cursor): unknown {
    const input = this.#inputs.get(name);
    if (input === undefined)
      throw at.error(
        "unresolved",
        `must name an input (${[...this.#inputs.keys()].join(", ") || "there are none"}), got ${JSON.stringify(name)}`,
      );
    if (input === "wrong") throw new ConsequenceError(`the input ${name}`);
    if (input === null) throw at.error("unresolved", `must have a value: the input ${name} was not given`);
    return input.value;
  }

  property(path: readonly string[], at: Cursor): { value: unknown; rest: readonly string[] } {
    const [entity = "", first, ...rest] = path;
    const template = this.#templateNamed(entity);
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

  /** As seen from a node template. */
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

  /** Null: nothing is said over it. */
  #route(source: NodeTemplate, requirement: Requirement): RouteDraft | null {
    const at = requirement.at ?? source.at;
    const relationship = this.#relationship(requirement);
    if (!isRoute(relationship?.type ?? null, requirement)) return null;
    const target = this.#target(source, requirement, at);
    if (!target.isService) {
      this.#notes.push(`${source.name} -> ${target.name}: no channel, ${target.name} is no Service`);
      return null;
    }
    if (relationship === null) {
      const types = ["Route"];
      return { source: source.name, target: target.name, at, types, properties: new Map() };
    }
    const { type, assignment } = relationship;
    const values = new Assigned(assignment, propertiesOf(type), isClosed(type), this.#of(source.name));
    return {
      source: source.name,
      target: target.name,
      at,
      types: chainOf(type).map(({ name }) => name),
      properties: values.all(assignment ?? at),
    };
  }

  /** The type of the relationship, and where its properties are assigned. */
  #relationship({ at, member }: Requirement): Relationship | null {
    const named = at !== null && at.isMap ? at.get("relationship") : null;
    const own = member === null ? null : memberType(member, "relationship", "relationship_types");
    if (named === null) return own === null ? null : { type: own, assignment: null };
    if (named.isMap) return this.#assigned(named, own);
    const template = this.#root.get("relationship_templates")?.get(named.text()) ?? null;
    if (template !== null) return this.#assigned(template.map(), null);
    return { type: this.#relationshipType(named), assignment: null };
  }

  /** Without a type of its own it is of that which the requirement's definition names. */
  #assigned(assignment: Cursor, defined: TypeDefinition | null): Relationship {
    const named = assignment.get("type");
    const type = named === null ? defined : this.#relationshipType(named);
    if (type === null) throw assignment.fail("must have a type");
    return { type, assignment };
  }

  #relationshipType(named: Cursor): TypeDefinition {
    return typeNamed(this.#scope, "relationship_types", named.text(), named);
  }

  /** By the name of a node template, or of a type that exactly one has. */
  #target(source: NodeTemplate, { name, at, member }: Requirement, place: Cursor): NodeTemplate {
    if (at?.isMap === true && at.get("node_filter") !== null)
      throw at.get("node_filter")!.error("unsupported", "is not read: name the node template by node");
    const assigned = at === null ? null : at.isMap ? at.get("node") : at;
    const template = assigned === null ? undefined : this.#templateNamed(assigned.text());
    if (template !== undefined) return template;
    const type = assigned === null ? definedNode(member) : this.#nodeType(assigned);
    if (type === null)
      throw place.error("unresolved", `must name the node template that the requirement ${name} leads to`);
    return this.#onlyOf(type, source, name, assigned ?? place);
  }

  #onlyOf(type: TypeDefinition, source: NodeTemplate, requirement: string, at: Cursor): NodeTemplate {
    const found = this.#known.filter((each) => each !== source && chainOf(each.type).includes(type));
    const [only] = found;
    if (only !== undefined && found.length === 1) return only;
    // It may be the one that couldn't be read.
    if (found.length === 0 && this.#known.length < this.#templates.size)
      throw new ConsequenceError(type.name);
    throw at.error(
      "unresolved",
      `must name one node template for the requirement ${requirement}: of the type ${type.name} there are ${found.map((each) => each.name).join(", ") || "none"}`,
    );
  }

  /** Undefined: there is none. */
  #templateNamed(name: string): NodeTemplate | undefined {
    const template = this.#templates.get(name);
    if (template === undefined && this.#templates.has(name)) throw new ConsequenceError(name);
    return template;
  }

  #nodeType(named: Cursor): TypeDefinition {
    const type = this.#scope.types.get("node_types")!.get(named.text());
    if (type !== undefined) return type;
    const known = [...this.#templates.keys()].slice(0, 12).join(", ");
    throw named.error(
      "unresolved",
      `must name a node template (${known}), got ${JSON.stringify(named.text())}`,
    );
  }
}

/** Of the node template, else of one of its capabilities. */
function propertyOf(
  template: NodeTemplate,
  [first = "", ...rest]: readonly string[],
  at: Cursor,
): { value: unknown; rest: readonly string[] } {
  const own = template.property(first);
  if (own !== undefined) return { value: own.value, rest };
  // 2.0 says CAPABILITY in front of its name.
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

/** As a requirement's definition says it. */
function definedNode(member: Requirement["member"]): TypeDefinition | null {
  for (const { at, by } of member?.definitions ?? []) {
    const node = at.isMap ? at.get("node") : null;
    if (node !== null) return typeNamed(by.definition!.scope, "node_types", node.text(), node);
  }
  return null;
}

/** By the relationship's type; where there is none, by what the requirement asks of its target. */
function isRoute(type: TypeDefinition | null, { name, member }: Requirement): boolean {
  if (type !== null) return chainOf(type).some((each) => ROUTE_TYPES.has(localName(each.name)));
  const capability = member === null ? null : memberType(member, "capability", "capability_types");
  if (capability === null) return name === "route";
  return chainOf(capability).some((each) => localName(each.name) === "Service");
}

function capabilityOf(template: NodeTemplate, name: string): Capability {
  const types = template.capabilityTypes(name);
  return { types, properties: template.capability(name).all(template.at) };
}
