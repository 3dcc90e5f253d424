// What types say of their properties, capabilities and requirements, refinements by derived types included.
import type { Cursor } from "./cursor.ts";
import { chainOf, typeNamed, type TypeDefinition } from "./definitions.ts";

/** A property of a type. */
export interface PropertyDefinition {
  readonly name: string;
  /** Of the nearest type that says it; null: nobody does. */
  readonly preset: Cursor | null;
  /** Name of its type; "" when nobody says it. */
  readonly type: string;
  readonly isRequired: boolean;
  /** The nearest definition. */
  readonly at: Cursor;
}

/** A capability or requirement of a node type: all definitions of that name, the nearest first. */
export interface MemberDefinition {
  readonly name: string;
  readonly definitions: readonly { readonly at: Cursor; readonly by: TypeDefinition }[];
}

/** Properties by name. `refinements` come before the type's own definitions, the nearest first. */
export function propertiesOf(
  type: TypeDefinition,
  refinements: readonly Cursor[] = [],
): Map<string, PropertyDefinition> {
  const levels = [
    ...refinements,
    ...chainOf(type).flatMap(({ definition }) => definition?.at.get("properties") ?? []),
  ];
  const found = new Map<string, Cursor[]>();
  for (const level of levels)
    for (const [name, at] of level.entries()) found.set(name, [...(found.get(name) ?? []), at]);
  return new Map([...found].map(([name, several]) => [name, propertyOf(name, several)]));
}

function propertyOf(name: string, definitions: readonly Cursor[]): PropertyDefinition {
  const nearest = (key: string): Cursor | null => {
    for (const definition of definitions) {
      const value = definition.isMap ? definition.get(key) : null;
      if (value !== null) return value;
    }
    return null;
  };
  const preset = nearest("default") ?? nearest("value");
  return {
    name,
    preset,
    type: nearest("type")?.text() ?? "",
    isRequired: nearest("required")?.value !== false && preset === null,
    at: definitions[0]!,
  };
}

/** Whether all that the type can have is known: Isochrone's own forms of published types leave much out. */
export function isClosed(type: TypeDefinition): boolean {
  return chainOf(type).every(({ definition }) => definition !== null && !definition.scope.isOpen);
}

/** Capabilities of a node type, by name. */
export function capabilitiesOf(type: TypeDefinition): Map<string, MemberDefinition> {
  return members(type, (at) => at.get("capabilities")?.entries() ?? []);
}

/** Requirements of a node type, by name: a list of maps of one entry each. */
export function requirementsOf(type: TypeDefinition): Map<string, MemberDefinition> {
  return members(type, (at) => at.get("requirements")?.items().map(soleEntry) ?? []);
}

/** The one entry of a map. Throws ToscaError. */
export function soleEntry(at: Cursor): [string, Cursor] {
  const [entry, ...others] = at.entries();
  if (entry === undefined || others.length > 0) throw at.fail("must be a map of one requirement");
  return entry;
}

/**
 * The type that a member's definitions name: a bare text, or under `key`; the nearest one counts. Null: none
 * does.
 */
export function memberType(
  { definitions }: MemberDefinition,
  key: "type" | "capability" | "relationship",
  kind: TypeDefinition["kind"],
): TypeDefinition | null {
  for (const { at, by } of definitions) {
    const named = typeof at.value === "string" && key !== "relationship" ? at : at.get(key);
    const name = named !== null && named.isMap ? named.get("type") : named;
    if (name) return typeNamed(by.definition!.scope, kind, name.text(), name);
  }
  return null;
}

function members(
  type: TypeDefinition,
  entriesOf: (at: Cursor) => readonly [string, Cursor][],
): Map<string, MemberDefinition> {
  const found = new Map<string, { at: Cursor; by: TypeDefinition }[]>();
  for (const by of chainOf(type)) {
    if (by.definition === null) continue;
    for (const [name, at] of entriesOf(by.definition.at))
      found.set(name, [...(found.get(name) ?? []), { at, by }]);
  }
  return new Map([...found].map(([name, definitions]) => [name, { name, definitions }]));
}
