import { reasonOf } from "@isochrone/primitives";
import { localName, chainOf, typeNamed, type Scope, type TypeDefinition } from "./definitions.ts";
import type { Cursor } from "./cursor.ts";
import { evaluate, type Surroundings } from "./functions.ts";
import {
  capabilitiesOf,
  isClosed,
  memberType,
  propertiesOf,
  requirementsOf,
  soleEntry,
  type MemberDefinition,
  type PropertyDefinition,
} from "./type-members.ts";
import { constraintFault, typeFault } from "./values.ts";

/** A requirement as assigned, as defined by the type, or both. */
export interface Requirement {
  readonly name: string;
  readonly at: Cursor | null;
  readonly member: MemberDefinition | null;
}

export class NodeTemplate {
  readonly name: string;
  readonly at: Cursor;
  readonly type: TypeDefinition;
  readonly #surroundings: Surroundings;
  readonly #capabilities: ReadonlyMap<string, MemberDefinition>;
  readonly #properties: Assigned;
  readonly #byCapability = new Map<string, Assigned>();

  constructor(name: string, at: Cursor, scope: Scope, surroundings: Surroundings) {
    this.name = name;
    this.at = at.map();
    const type = at.get("type");
    if (type === null) throw at.fail("must have a type");
    this.type = typeNamed(scope, "node_types", type.text(), type);
    this.#surroundings = surroundings;
    this.#capabilities = capabilitiesOf(this.type);
    this.#properties = new Assigned(at, propertiesOf(this.type), isClosed(this.type), surroundings);
  }

  get hasDeployment(): boolean {
    return this.capabilityNames().some((name) => this.capabilityTypes(name).includes("Deployment"));
  }

  property(name: string): Cursor | undefined {
    return this.#properties.get(name);
  }

  hasProperty(name: string): boolean {
    return this.#properties.isGiven(name);
  }

  /** Named properties with a valid value. Adds mistakes. */
  properties(names: readonly string[]): Map<string, Cursor> {
    return this.#properties.some(names);
  }

  capabilityNames(): readonly string[] {
    return [...this.#capabilities.keys()];
  }

  capabilityType(name: string): TypeDefinition | null {
    const member = this.#capabilities.get(name);
    return member === undefined ? null : memberType(member, "type", "capability_types");
  }

  capabilityTypes(name: string): readonly string[] {
    const type = this.capabilityType(name);
    return type === null ? [] : chainOf(type).map((each) => localName(each.name));
  }

  hasCapability(name: string): boolean {
    return this.#capabilities.has(name);
  }

  capability(name: string): Assigned {
    let found = this.#byCapability.get(name);
    if (found === undefined) {
      const member = this.#capabilities.get(name)!;
      const type = memberType(member, "type", "capability_types");
      const refinements = member.definitions.flatMap(({ at }) =>
        at.isMap ? (at.get("properties") ?? []) : [],
      );
      const properties =
        type === null ? new Map<string, PropertyDefinition>() : propertiesOf(type, refinements);
      const at = this.at.get("capabilities")?.get(name) ?? null;
      found = new Assigned(at, properties, type !== null && isClosed(type), this.#surroundings);
      this.#byCapability.set(name, found);
    }
    return found;
  }

  /** Assigned requirements, then unassigned ones that the type demands. */
  requirements(): Requirement[] {
    const known = requirementsOf(this.type);
    const { mistakes } = this.#surroundings;
    const assigned = (this.at.get("requirements")?.items() ?? []).flatMap(
      (item) => mistakes.attempt(() => this.#requirement(item, known)) ?? [],
    );
    const names = new Set(assigned.map(({ name }) => name));
    const demanded = [...known.values()].filter(
      (member) => !names.has(member.name) && isDemanded(member, this.type),
    );
    return [...assigned, ...demanded.map((member) => ({ name: member.name, at: null, member }))];
  }

  #requirement(item: Cursor, known: ReadonlyMap<string, MemberDefinition>): Requirement & { at: Cursor } {
    const [key, at] = soleEntry(item);
    // Alien4Cloud puts the definition's name inside.
    const named = at.isMap ? at.get("type_requirement")?.value : undefined;
    const name = typeof named === "string" ? named : key;
    const member = known.get(name) ?? null;
    if (member === null && isClosed(this.type))
      throw at.error(
        "unresolved",
        `must be a requirement of ${this.type.name} (${[...known.keys()].join(", ") || "it has none"}), got ${JSON.stringify(name)}`,
      );
    return { name, at, member };
  }

  checkCapabilities(): void {
    if (!isClosed(this.type)) return;
    for (const [name, at] of this.at.get("capabilities")?.entries() ?? [])
      if (!this.#capabilities.has(name))
        this.#surroundings.mistakes.add(
          at.error(
            "unresolved",
            `must be a capability of ${this.type.name} (${this.capabilityNames().join(", ") || "it has none"}), got ${JSON.stringify(name)}`,
          ),
        );
  }
}

/** Property values: assigned, else preset by types. Evaluated lazily, once. */
export class Assigned {
  readonly #definitions: ReadonlyMap<string, PropertyDefinition>;
  readonly #assigned: ReadonlyMap<string, Cursor>;
  readonly #isClosed: boolean;
  readonly #surroundings: Surroundings;
  readonly #known = new Map<string, Cursor | Error | null>();

  constructor(
    at: Cursor | null,
    definitions: ReadonlyMap<string, PropertyDefinition>,
    isClosed: boolean,
    surroundings: Surroundings,
  ) {
    this.#definitions = definitions;
    this.#assigned = new Map(at?.get("properties")?.entries() ?? []);
    this.#isClosed = isClosed;
    this.#surroundings = surroundings;
  }

  get(name: string): Cursor | undefined {
    const known = this.#known.get(name);
    const definition = this.#definitions.get(name);
    const at = this.#assigned.get(name) ?? definition?.preset ?? undefined;
    if (known === null) throw at!.error("circular", "must not be worked out from itself");
    if (known instanceof Error) throw known;
    if (known !== undefined || at === undefined) return known;
    this.#known.set(name, null);
    try {
      const value = this.#valueOf(at, definition);
      this.#known.set(name, value);
      return value;
    } catch (error) {
      this.#known.set(name, error instanceof Error ? error : new Error(reasonOf(error)));
      throw error;
    }
  }

  #valueOf(at: Cursor, definition: PropertyDefinition | undefined): Cursor {
    const value = at.with(evaluate(at, this.#surroundings));
    const fault =
      typeFault(value.value, definition?.type ?? "") ??
      (definition === undefined ? null : constraintFault(value.value, definition.at));
    if (fault !== null) throw value.fail(fault, "invalid_value");
    return value;
  }

  /** All valid values; `at` locates a missing required one. Adds mistakes. */
  all(at: Cursor): Map<string, Cursor> {
    const names = new Set([...this.#definitions.keys(), ...this.#assigned.keys()]);
    const values = this.some([...names]);
    for (const name of names)
      if (this.#definitions.get(name)?.isRequired === true && !this.isGiven(name))
        this.#surroundings.mistakes.add(at.error("invalid_value", `must have the property ${name}`));
    return values;
  }

  /** Named properties with a valid value. Adds mistakes, also for unknown properties. */
  some(names: readonly string[]): Map<string, Cursor> {
    const { mistakes } = this.#surroundings;
    this.#checkNames();
    const values = new Map<string, Cursor>();
    for (const name of names)
      mistakes.attempt(() => {
        const value = this.get(name);
        if (value !== undefined && value.value !== null) values.set(name, value);
      });
    return values;
  }

  isGiven(name: string): boolean {
    const at = this.#assigned.get(name) ?? this.#definitions.get(name)?.preset;
    return at !== undefined && at !== null && at.value !== null;
  }

  #checkNames(): void {
    if (!this.#isClosed) return;
    for (const [name, value] of this.#assigned)
      if (!this.#definitions.has(name))
        this.#surroundings.mistakes.add(
          value.error(
            "unresolved",
            `must be one of the properties that the type has (${[...this.#definitions.keys()].join(", ") || "it has none"}), got ${JSON.stringify(name)}`,
          ),
        );
  }
}

/**
 * Whether an unassigned requirement is demanded: without a range, exactly one is. In TOSCA 2.0 there may be
 * any number, and peers of the same type are not demanded.
 */
function isDemanded({ definitions }: MemberDefinition, source: TypeDefinition): boolean {
  for (const { at } of definitions) {
    const range = at.isMap ? at.either("occurrences", "count_range") : null;
    if (range !== null) return !Array.isArray(range.value) || range.value[0] !== 0;
  }
  return !definitions.some(
    ({ at, by }) =>
      by.definition?.scope.dialect === "2.0" &&
      chainOf(source).some(({ name }) => name === (at.isMap ? at.get("node")?.value : undefined)),
  );
}
