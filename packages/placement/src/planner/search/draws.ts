import type { Draw } from "@isochrone/primitives";

/** A position below `count`, which MUST be 1 or more. */
export function drawIndex(draw: Draw, count: number): number {
  return Math.floor(draw() * count);
}

/** Fisher and Yates, in place. */
export function shuffle(items: number[], draw: Draw): void {
  for (let last = items.length - 1; last > 0; last--) {
    const other = drawIndex(draw, last + 1);
    [items[last], items[other]] = [items[other]!, items[last]!];
  }
}
