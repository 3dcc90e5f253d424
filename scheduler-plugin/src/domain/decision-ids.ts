import type { Random } from "@isochrone/runtime";

/** Unique in this process, and very likely across its predecessors. */
export function decisionIds(random: Random): () => string {
  const run = Math.floor(random.next() * 36 ** 8)
    .toString(36)
    .padStart(8, "0");
  let last = 0;
  return () => `${run}-${++last}`;
}

/** Orders ids of one process by creation, and others by process run. 0: not such ids. */
export function compareIds(a: string, b: string): number {
  const [first, second] = [a, b].map((id) => /^(.*)-(\d{1,15})$/.exec(id));
  if (!first || !second) return 0;
  if (first[1] !== second[1]) return first[1]! < second[1]! ? -1 : 1;
  return Number(first[2]) - Number(second[2]);
}
