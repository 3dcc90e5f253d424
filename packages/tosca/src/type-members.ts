import type { Cursor } from "./cursor.ts";
import { chainOf, typeNamed, type TypeDefinition } from "./definitions.ts";

export interface PropertyDefinition {
  readonly name: string;
  readonly preset: Cursor | null;
  readonly type: string;
  readonly isRequired: boolean;
  readonly at: Cursor;
}

/** A capability or requirement: all definitions of the name, nearest first. */
export interface MemberDefinition {
  readonly name: string;
  readonly definitions: readonly { readonly at: Cursor; readonly by: TypeDefinition }[];
}

/** Properties by name. @param refinements precede the type's own definitions, nearest first */
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

/** Whether all members are known: the built-in replacements are incomplete. */
export function isClosed(type: TypeDefinition): boolean {
  return chainOf(type).every(({ definition }) => definition !== null && !definition.scope.isOpen);
}

export function capabilitiesOf(type: TypeDefinition): Map<string, MemberDefinition> {
  return members(type, (at) => at.get("capabilities")?.entries() ?? []);
}

export function requirementsOf(type: TypeDefinition): Map<string, MemberDefinition> {
  return members(type, (at) => at.get("requirements")?.items().map(soleEntry) ?? []);
}

export function soleEntry(at: Cursor): [string, Cursor] {
  const [entry, ...others] = at.entries();
  if (entry === undefined || others.length > 0) throw at.fail("must be a map of one requirement");
  return entry;
}

/** Type named by the nearest definition, as text or under `key`. Null: none. */
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
