import { createHash } from "node:crypto";
import { SLOTS } from "./kernel-state.ts";

/**
 * Stable slots below SLOTS by neighbour address, independent of other neighbours except for rare collisions;
 * used as numbers of classes and routing tables.
 */
export function slotsOf(addresses: readonly string[]): ReadonlyMap<string, number> {
  const taken = new Set<number>();
  const slots = new Map<string, number>();
  for (const address of [...new Set(addresses)].toSorted()) {
    let slot = createHash("sha256").update(address).digest().readUInt32BE(0) % SLOTS;
    while (taken.has(slot)) slot = (slot + 1) % SLOTS;
    taken.add(slot);
    slots.set(address, slot);
  }
  return slots;
}
