// Resolves requirements to links: target node template, and channel or host.
import { CHANNEL_PROPERTIES, type RouteDraft } from "./application.ts";
import type { Cursor } from "./cursor.ts";
import { chainOf, namesOfChain, typeNamed, type Scope, type TypeDefinition } from "./definitions.ts";
import type { Surroundings } from "./functions.ts";
import { routeTypeOf, type Mapping } from "./mapping/mapping.ts";
import { ConsequenceError } from "./mistakes.ts";
import { Assigned, type NodeTemplate, type Requirement } from "./node-template.ts";
import { capabilitiesOf, isClosed, memberType, propertiesOf, type MemberDefinition } from "./type-members.ts";

export interface Link {
  readonly kind: "channel" | "host";
  readonly source: NodeTemplate;
  readonly target: NodeTemplate;
  route(): RouteDraft;
}

interface Surrounding {
  readonly scope: Scope;
  readonly root: Cursor;
  readonly mapping: Mapping;
  readonly notes: string[];
  /** Undefined: unreadable, already reported. */
  readonly templates: ReadonlyMap<string, NodeTemplate | undefined>;
  surroundingsOf(template: string): Surroundings;
}

interface Relationship {
  readonly type: TypeDefinition;
  readonly assignment: Cursor | null;
}

export class Links {
  readonly #around: Surrounding;
  #byType: Map<TypeDefinition, NodeTemplate[]> | null = null;
  #isPartial: boolean | null = null;

  constructor(around: Surrounding) {
    this.#around = around;
  }

  /** Null if neither channel nor host, or without target. Throws ToscaError. */
  of(source: NodeTemplate, requirement: Requirement): Link | null {
    const relationship = this.#relationship(requirement);
    const kind = this.#kindOf(requirement, relationship?.type ?? null);
    if (kind === null) return null;
    const target = this.#target(source, requirement, kind);
    if (target === null) return null;
    return { kind, source, target, route: () => this.#route(source, target, requirement, relationship) };
  }

  #kindOf(requirement: Requirement, relationship: TypeDefinition | null): Link["kind"] | null {
    const { mapping } = this.#around;
    const by = relationship === null ? [] : this.#namesOf(relationship);
    if (mapping.hosts.hasAny(by)) return "host";
    if (mapping.relationships.hasAny(by) || mapping.requirements.has(requirement.name)) return "channel";
    return mapping.capabilities.hasAny(this.#asked(requirement)) ? "channel" : null;
  }

  #asked(requirement: Requirement): string[][] {
    const capability = this.#capability(requirement);
    return capability === null ? [] : this.#namesOf(capability);
  }

  #namesOf(type: TypeDefinition): string[][] {
    return namesOfChain(type, this.#around.scope);
  }

  #route(
    source: NodeTemplate,
    target: NodeTemplate,
    requirement: Requirement,
    relationship: Relationship | null,
  ): RouteDraft {
    const { mapping } = this.#around;
    const ends = { source: source.name, target: target.name, at: requirement.at ?? source.at };
    const by = relationship === null ? [] : this.#namesOf(relationship.type);
    const routed =
      routeTypeOf(by, mapping) ??
      (mapping.routes.size === 0 ? null : routeTypeOf(this.#asked(requirement), mapping));
    if (relationship === null) return { ...ends, types: [routed ?? "Route"], properties: new Map() };
    const { type, assignment } = relationship;
    const around = this.#around.surroundingsOf(source.name);
    return {
      ...ends,
      types: [...chainOf(type).map(({ name }) => name), ...(routed === null ? [] : [routed])],
      properties: new Assigned(assignment, propertiesOf(type), isClosed(type), around).some(
        CHANNEL_PROPERTIES,
      ),
    };
  }

  #relationship({ at, member }: Requirement): Relationship | null {
    const named = at !== null && at.isMap ? at.get("relationship") : null;
    const own = member === null ? null : memberType(member, "relationship", "relationship_types");
    if (named === null) return own === null ? null : { type: own, assignment: null };
    if (named.isMap) return this.#assigned(named, own);
    const template = this.#around.root.get("relationship_templates")?.get(named.text()) ?? null;
    if (template !== null) return this.#assigned(template.map(), null);
    return { type: this.#relationshipType(named), assignment: null };
  }

  /** Defaults to the relationship type in the requirement's definition. */
  #assigned(assignment: Cursor, defined: TypeDefinition | null): Relationship {
    const named = assignment.get("type");
    const type = named === null ? defined : this.#relationshipType(named);
    if (type === null) throw assignment.fail("must have a type");
    return { type, assignment };
  }

  #relationshipType(named: Cursor): TypeDefinition {
    return typeNamed(this.#around.scope, "relationship_types", named.text(), named);
  }

  /** Requested capability type: by name, or from the target. */
  #capability({ at, member }: Requirement): TypeDefinition | null {
    const named = at !== null && at.isMap ? at.get("capability") : null;
    if (typeof named?.value === "string") {
      const node = at?.get("node")?.value;
      const target = typeof node === "string" ? this.#around.templates.get(node) : undefined;
      const own = target?.capabilityType(named.value);
      if (own) return own;
      const type = this.#around.scope.types.get("capability_types")!.get(named.value);
      if (type !== undefined) return type;
      if (/^tosca[.:]/.test(named.value))
        return typeNamed(this.#around.scope, "capability_types", named.value, named);
    }
    return member === null
      ? null
      : (capabilityByName(member) ?? memberType(member, "capability", "capability_types"));
  }

  /**
   * Finds the target by name, or by a type with exactly one node template. Otherwise returns null with a
   * note.
   */
  #target(source: NodeTemplate, requirement: Requirement, kind: Link["kind"]): NodeTemplate | null {
    const { at } = requirement;
    const assigned = at?.isMap === true ? at.get("node") : at;
    const template = typeof assigned?.value === "string" ? this.#templateNamed(assigned.value) : undefined;
    if (template !== undefined) return template;
    return kind === "host" ? null : this.#targetOfType(source, requirement, assigned);
  }

  #targetOfType(
    source: NodeTemplate,
    { name, at, member }: Requirement,
    assigned: Cursor | null,
  ): NodeTemplate | null {
    const type = assigned === null ? definedNode(member) : this.#nodeType(assigned);
    const hasFilter = at?.isMap === true && at.get("node_filter") !== null;
    const found = type === null ? [] : this.#othersOf(type, source);
    const [only] = found;
    if (only !== undefined && found.length === 1 && !hasFilter) return only;
    this.#isPartial ??= [...this.#around.templates.values()].includes(undefined);
    if (only === undefined && this.#isPartial) throw new ConsequenceError(name);
    const reason = hasFilter
      ? "its node_filter is not read: name the node template by node"
      : targetRule(type, found);
    this.#around.notes.push(`${source.name}: no channel by the requirement ${name}, ${reason}`);
    return null;
  }

  #othersOf(type: TypeDefinition, source: NodeTemplate): readonly NodeTemplate[] {
    return this.#ofType(type)
      .slice(0, 3)
      .filter((each) => each !== source);
  }

  #ofType(type: TypeDefinition): readonly NodeTemplate[] {
    if (this.#byType === null) {
      this.#byType = new Map();
      for (const template of this.#around.templates.values())
        for (const each of template === undefined ? [] : chainOf(template.type)) {
          const known = this.#byType.get(each);
          if (known === undefined) this.#byType.set(each, [template!]);
          else known.push(template!);
        }
    }
    return this.#byType.get(type) ?? [];
  }

  #templateNamed(name: string): NodeTemplate | undefined {
    const template = this.#around.templates.get(name);
    if (template === undefined && this.#around.templates.has(name)) throw new ConsequenceError(name);
    return template;
  }

  #nodeType(named: Cursor): TypeDefinition {
    const { scope, templates } = this.#around;
    const name = named.text();
    const type = scope.types.get("node_types")!.get(name);
    if (type !== undefined) return type;
    if (/^tosca[.:]/.test(name)) return typeNamed(scope, "node_types", name, named);
    const known = [...templates.keys()].slice(0, 12).join(", ");
    throw named.error("unresolved", `must name a node template (${known}), got ${JSON.stringify(name)}`);
  }
}

function targetRule(type: TypeDefinition | null, found: readonly NodeTemplate[]): string {
  if (type === null) return "nothing says which node template it leads to";
  const candidates = found.map(({ name }) => name).join(", ") || "none";
  return `it must lead to one node template: of the type ${type.name} there are ${candidates}`;
}

/** In TOSCA 2.0 a definition may name a capability of the requested node type. */
function capabilityByName(member: MemberDefinition): TypeDefinition | null {
  const [nearest] = member.definitions;
  const name = nearest?.at.isMap === true ? nearest.at.get("capability")?.value : undefined;
  if (
    typeof name !== "string" ||
    nearest?.by.definition?.scope.types.get("capability_types")!.has(name) !== false
  )
    return null;
  const type = nearest.at.get("node")?.value;
  const node =
    typeof type === "string" ? nearest.by.definition.scope.types.get("node_types")!.get(type) : undefined;
  const capability = node === undefined ? undefined : capabilitiesOf(node).get(name);
  return capability === undefined ? null : memberType(capability, "type", "capability_types");
}

function definedNode(member: Requirement["member"]): TypeDefinition | null {
  for (const { at, by } of member?.definitions ?? []) {
    const node = at.isMap ? at.get("node") : null;
    if (typeof node?.value === "string")
      return typeNamed(by.definition!.scope, "node_types", node.value, node);
  }
  return null;
}
