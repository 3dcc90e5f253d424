// Identifies the writer of annotations. Aggregators of one installation coordinate by Leases; others detect
// each other by marks on the objects.
import type { Writer } from "@isochrone/topology";

/** The writer that started last wins, because its settings are the most recent. */
export function yieldsTo(self: Writer, other: Writer): boolean {
  if (other.name === self.name) return false;
  return other.sinceMs === self.sinceMs ? other.name > self.name : other.sinceMs > self.sinceMs;
}
