import { CHANNEL_TYPES } from "@isochrone/placement";
import { localName } from "./definitions.ts";

const PRIORITIES: ReadonlyMap<string, number | null> = new Map(
  CHANNEL_TYPES.map(({ name, priority }) => [name, priority]),
);

/** Relationship types that make channels, including derived ones. Route is Puccini's. */
export const ROUTE_TYPES: ReadonlySet<string> = new Set(["Route", "ConnectsTo", ...PRIORITIES.keys()]);

/** Priority of the nearest type known to [001]; null: none. */
export function inheritedPriority(types: readonly string[]): number | null {
  for (const type of types) {
    const priority = PRIORITIES.get(localName(type)) ?? null;
    if (priority !== null) return priority;
  }
  return null;
}
