import { hash53 } from "../../domain/hash.ts";

/**
 * The one of `candidates` that an object falls to: the highest hash of both names wins. When a candidate
 * goes, only what was its own moves; when one comes, only what becomes its own. The order of the candidates
 * does not matter. Null: there are none.
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
