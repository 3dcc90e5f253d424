interface Circle {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

const ROUNDS = 300;
const GAP = 2;

/**
 * Moves overlapping circles apart, each as little as possible, deterministically.
 * @param hold constrains a circle, for example to the frame
 */
export function spread<T extends Circle>(
  circles: readonly T[],
  hold: (point: Point, circle: T, index: number) => Point,
): T[] {
  const at = circles.map((circle, index) => ({ ...hold(circle, circle, index) }));
  for (let round = 0; round < ROUNDS; round++) {
    if (!pushApart(circles, at)) break;
    for (const [index, circle] of circles.entries()) at[index] = { ...hold(at[index]!, circle, index) };
  }
  return circles.map((circle, index) => ({ ...circle, ...at[index]! }));
}

function pushApart(circles: readonly Circle[], at: { x: number; y: number }[]): boolean {
  let isMoved = false;
  for (const [index, one] of at.entries())
    for (let next = index + 1; next < at.length; next++) {
      const other = at[next]!;
      const wanted = circles[index]!.radius + circles[next]!.radius + GAP;
      const [dx, dy] = [other.x - one.x, other.y - one.y];
      const distance = Math.hypot(dx, dy);
      if (distance >= wanted - 0.01) continue;
      isMoved = true;
      // Coincident circles separate by the golden angle.
      const angle = distance < 0.01 ? next * 2.399_963 : Math.atan2(dy, dx);
      const half = (wanted - distance) / 2;
      one.x -= Math.cos(angle) * half;
      one.y -= Math.sin(angle) * half;
      other.x += Math.cos(angle) * half;
      other.y += Math.sin(angle) * half;
    }
  return isMoved;
}

/** Keeps a circle within the frame; `below` is reserved for the scale bar. */
export function within(
  { width, height }: { readonly width: number; readonly height: number },
  below = 0,
): (point: Point, circle: Circle) => Point {
  const between = (value: number, radius: number, extent: number): number =>
    Math.max(radius, Math.min(extent - radius, value));
  return ({ x, y }, { radius }) => ({
    x: between(x, radius, width),
    y: between(y, radius, height - below),
  });
}

export function around(middle: Point): (point: Point, circle: Circle) => Point {
  return ({ x, y }, circle) => {
    const distance = Math.hypot(circle.x - middle.x, circle.y - middle.y);
    const angle = Math.atan2(y - middle.y, x - middle.x);
    return { x: middle.x + Math.cos(angle) * distance, y: middle.y + Math.sin(angle) * distance };
  };
}
