import type { Theme } from "../../model/scale.ts";

/** At least 3:1 against the card (WCAG 2). No red, which marks losses. */
export const WORKLOAD_COLOURS: Readonly<Record<Theme, readonly string[]>> = {
  light: [
    "#0b62c4",
    "#b45309",
    "#0f7a4d",
    "#a21caf",
    "#6d28d9",
    "#0e8a9e",
    "#c02577",
    "#5c7c0f",
    "#7c3a1e",
    "#475569",
    "#9a7200",
    "#1e2f7a",
  ],
  dark: [
    "#6aaeff",
    "#fba14e",
    "#4fcf92",
    "#e58af2",
    "#a78bfa",
    "#4fd0e3",
    "#ff8fc0",
    "#b4dc4e",
    "#d9a184",
    "#c3ccd8",
    "#f4d850",
    "#8794f5",
  ],
};

const SHAPES = ["square", "round", "diamond"] as const;
type Shape = (typeof SHAPES)[number];
const COLOURS = WORKLOAD_COLOURS.light.length;
const MARKS = COLOURS * SHAPES.length;

export type Marks = ReadonlyMap<string, number>;

/**
 * Keeps assigned marks and adds new ones. A name's hash selects the colour; taken colours stay with their
 * owner while others are free.
 */
export function marksFor(workloads: Iterable<string>, before: Marks): Marks {
  const marks = new Map(before);
  const taken = new Set(before.values());
  for (const name of [...new Set(workloads)].sort()) {
    if (marks.has(name)) continue;
    const mark = freeMark(hashOf(name), taken);
    marks.set(name, mark);
    taken.add(mark);
  }
  return marks;
}

/** Squares of all colours first, then other shapes; repeats once all are taken. */
function freeMark(hash: number, taken: ReadonlySet<number>): number {
  for (let shape = 0; shape < SHAPES.length; shape++)
    for (let step = 0; step < COLOURS; step++) {
      const mark = shape * COLOURS + ((hash + step) % COLOURS);
      if (!taken.has(mark)) return mark;
    }
  return hash % MARKS;
}

export function colourOfMark(mark: number, theme: Theme): string {
  return WORKLOAD_COLOURS[theme][mark % COLOURS]!;
}

export function shapeOfMark(mark: number): Shape {
  return SHAPES[Math.floor(mark / COLOURS)]!;
}

function hashOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93) >>> 0;
  return hash;
}
