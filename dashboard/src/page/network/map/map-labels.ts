interface Dot {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  /** Radius including everything around the dot, pixels. */
  readonly radius: number;
}

export interface Label {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly line: string | null;
}

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

interface Frame {
  readonly width: number;
  readonly height: number;
}

export const LINE = 14;
const GAP = 3;
/** Tried positions: beside the dot first, then further above and below. */
const RINGS = 8;
const MOST_NAMES = 250;

/**
 * Omits names without a free place; they appear on hover.
 * @param widthOf text width in pixels
 * @param reserved places of other text
 */
export function labelsOf(
  dots: readonly Dot[],
  frame: Frame,
  widthOf: (text: string) => number,
  reserved: readonly Box[] = [],
): Label[] {
  if (dots.length > MOST_NAMES) return [];
  const taken: Box[] = [
    ...reserved,
    ...dots.map(({ x, y, radius }) => boxAround(x - radius, y - radius, 2 * radius, 2 * radius)),
  ];
  return [...dots]
    .sort((a, b) => a.y - b.y)
    .flatMap((dot) => {
      const free = candidates(dot, widthOf(dot.text)).find(
        ({ box }) => isInside(box, frame) && taken.every((other) => !overlap(box, other)),
      );
      if (free === undefined) return [];
      taken.push(free.box);
      return [labelIn(dot, free)];
    });
}

/** Position of a name on hover or focus: beside its dot, within the frame, over other names. */
export function labelBeside({ x, y, radius }: Dot, wide: number, { width }: Frame): { x: number; y: number } {
  const right = x + radius + GAP;
  return { x: right + wide <= width ? right : Math.max(0, x - radius - GAP - wide), y: y + 4 };
}

interface Candidate {
  readonly box: Box;
  readonly isFar: boolean;
}

function labelIn(dot: Dot, { box, isFar }: Candidate): Label {
  const end = box.left > dot.x ? box.left - 2 : box.right + 2;
  const middle = (box.top + box.bottom) / 2;
  return {
    text: dot.text,
    x: box.left,
    y: box.bottom - 3,
    line: isFar ? `M ${dot.x.toFixed(1)} ${dot.y.toFixed(1)} L ${end.toFixed(1)} ${middle.toFixed(1)}` : null,
  };
}

function candidates({ x, y, radius }: Dot, wide: number): Candidate[] {
  const found: Candidate[] = [];
  const near = radius + GAP;
  const add = (left: number, top: number, isFar: boolean): number =>
    found.push({ box: boxAround(left, top, wide, LINE), isFar });
  add(x + near, y - LINE / 2, false);
  add(x - near - wide, y - LINE / 2, false);
  add(x - wide / 2, y + near, false);
  add(x - wide / 2, y - near - LINE, false);
  for (let ring = 1; ring < RINGS; ring++)
    for (const down of [ring, -ring])
      for (const left of [x + near + ring * 2, x - near - ring * 2 - wide])
        add(left, y - LINE / 2 + down * LINE, true);
  return found;
}

const isInside = (box: Box, { width, height }: Frame): boolean =>
  box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height;

export const boxAround = (left: number, top: number, wide: number, tall: number): Box => ({
  left,
  right: left + wide,
  top,
  bottom: top + tall,
});

const overlap = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
