import type { Random } from "@isochrone/runtime";

/** Unique among this process's decisions, and very likely among those of its predecessors. */
export function decisionIds(random: Random): () => string {
  const run = Math.floor(random.next() * 36 ** 8)
    .toString(36)
    .padStart(8, "0");
  let last = 0;
  return () => `${run}-${++last}`;
}
