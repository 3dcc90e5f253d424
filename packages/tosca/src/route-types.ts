import { CHANNEL_TYPES } from "@isochrone/placement";
import { localName } from "./definitions.ts";

const PRIORITIES: ReadonlyMap<string, number | null> = new Map(
  CHANNEL_TYPES.map(({ name, priority }) => [name, priority]),
);

/**
 * Relationships of these types, and of those derived from them, are channels: Route is that of Puccini's
 * Kubernetes profile.
 */
export const ROUTE_TYPES: ReadonlySet<string> = new Set(["Route", "ConnectsTo", ...PRIORITIES.keys()]);

/** Of the first type that [001] knows, the relationship's own type first; null: it knows none. */
export function inheritedPriority(types: readonly string[]): number | null {
  for (const type of types) {
    const priority = PRIORITIES.get(localName(type)) ?? null;
    if (priority !== null) return priority;
  }
  return null;
}
