import { hash53 } from "../../domain/hash.ts";

/**
 * Owner of an object: the candidate with the highest hash of both names. Independent of the order. Adding or
 * removing a candidate moves only its own objects. Null: no candidates.
 */
export function rendezvousOwner(object: string, candidates: readonly string[]): string | null {
  let owner: string | null = null;
  let highest = -1;
  for (const candidate of candidates) {
    const weight = hash53(`${candidate}\n${object}`);
    if (weight < highest || (weight === highest && owner !== null && candidate > owner)) continue;
    owner = candidate;
    highest = weight;
  }
  return owner;
}
