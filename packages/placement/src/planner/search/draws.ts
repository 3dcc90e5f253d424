import type { Draw } from "@isochrone/primitives";

/** `count` MUST be positive. */
export function drawIndex(draw: Draw, count: number): number {
  return Math.floor(draw() * count);
}

export function shuffle(items: number[], draw: Draw): void {
  for (let last = items.length - 1; last > 0; last--) {
    const other = drawIndex(draw, last + 1);
    [items[last], items[other]] = [items[other]!, items[last]!];
  }
}
