import { seeded } from "@isochrone/primitives";
import type { Random } from "./clock.ts";

/** Reproducible: equal seeds give equal numbers on every machine. */
export function seededRandom(seed: number): Random {
  return { next: seeded(seed) };
}
