// Who annotates an object. Aggregators of one installation agree by Leases; others know of each other by what
// they leave on the objects.
import type { Writer } from "@isochrone/topology";

/**
 * Of two writers that don't know of each other the one that began last stays: its settings are the last ones
 * somebody asked for.
 */
export function yieldsTo(self: Writer, other: Writer): boolean {
  if (other.name === self.name) return false;
  return other.sinceMs === self.sinceMs ? other.name > self.name : other.sinceMs > self.sinceMs;
}
