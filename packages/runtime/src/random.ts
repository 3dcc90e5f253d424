import { seeded } from "@isochrone/primitives";
import type { Random } from "./clock.ts";

/** A repeatable source: the same seed gives the same numbers on every machine. */
export function seededRandom(seed: number): Random {
  return { next: seeded(seed) };
}
