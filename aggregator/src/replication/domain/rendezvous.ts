import { hash53 } from "../../domain/hash.ts";

/** The candidate with the highest hash of both names. A change of candidates moves only its objects. */
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
