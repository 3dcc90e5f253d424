// Names beside dots, so that none lies upon another name or another dot. Pure.

interface Dot {
  readonly text: string;
  /** Pixels. */
  readonly x: number;
  readonly y: number;
}

/** Where a name begins. */
export interface Label extends Dot {
  /** To its dot, where it is too far away to be told by its place; null: it is beside it. */
  readonly line: string | null;
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Of a letter and a line of the map's names. */
const LETTER = 6.9;
const LINE = 14;
const DOT = 8;
const GAP = 11;
/** Places that are tried: beside the dot first, then further and further above and below. */
const RINGS = 12;

export function labelsOf(
  dots: readonly Dot[],
  { width, height }: { readonly width: number; readonly height: number },
): Label[] {
  const taken: Box[] = dots.map(({ x, y }) => boxAround(x - DOT, y - DOT, 2 * DOT, 2 * DOT));
  return [...dots]
    .sort((a, b) => a.y - b.y)
    .map((dot) => {
      const long = dot.text.length * LETTER;
      const free = candidates(dot, long).find(
        ({ box }) =>
          box.left >= 0 &&
          box.right <= width &&
          box.top >= 0 &&
          box.bottom <= height &&
          taken.every((other) => !overlap(box, other)),
      );
      const { box, isFar } = free ?? candidates(dot, long)[0]!;
      taken.push(box);
      const end = box.left > dot.x ? box.left - 2 : box.right + 2;
      const middle = (box.top + box.bottom) / 2;
      return {
        text: dot.text,
        x: box.left,
        y: box.bottom - 3,
        line: isFar
          ? `M ${dot.x.toFixed(1)} ${dot.y.toFixed(1)} L ${end.toFixed(1)} ${middle.toFixed(1)}`
          : null,
      };
    });
}

function candidates({ x, y }: Dot, long: number): { readonly box: Box; readonly isFar: boolean }[] {
  const found: { box: Box; isFar: boolean }[] = [];
  for (let ring = 0; ring < RINGS; ring++)
    for (const down of ring === 0 ? [0] : [ring, -ring])
      for (const left of [x + GAP + ring * 2, x - GAP - ring * 2 - long])
        found.push({ box: boxAround(left, y - LINE / 2 + down * LINE, long, LINE), isFar: ring > 0 });
  return found;
}

const boxAround = (left: number, top: number, wide: number, tall: number): Box => ({
  left,
  right: left + wide,
  top,
  bottom: top + tall,
});

const overlap = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
