export const POD = 9;
/** Distance between neighbours: squares of 9 px never touch in any direction. */
const STEP = 13;
const FIRST = 16;
const BARE = 8;
export const MOST_RINGS = 3;

interface Slot {
  readonly x: number;
  readonly y: number;
}

interface Rings {
  readonly slots: readonly Slot[];
  /** Position of the number of pods without a slot; null: all have one. */
  readonly more: (Slot & { readonly count: number }) | null;
}

const radiusOf = (ring: number): number => FIRST + ring * STEP;
const capacityOf = (ring: number): number => Math.floor(Math.PI / Math.asin(STEP / (2 * radiusOf(ring))));

/** Fills inner rings first. If pods exceed places, the last place holds "+n". */
export function ringsOf(pods: number, mostRings: number): Rings {
  const places: Slot[] = [];
  for (let ring = 0; ring < mostRings && places.length < pods; ring++) {
    const count = Math.min(capacityOf(ring), pods - places.length);
    for (let index = 0; index < count; index++) {
      const angle = (index / count) * 2 * Math.PI - Math.PI / 2;
      places.push({ x: Math.cos(angle) * radiusOf(ring), y: Math.sin(angle) * radiusOf(ring) });
    }
  }
  const last = places.at(-1);
  if (last === undefined || places.length === pods) return { slots: places, more: null };
  return { slots: places.slice(0, -1), more: { ...last, count: pods - places.length + 1 } };
}

export function reachOf(pods: number, mostRings: number): number {
  let reach = BARE;
  let left = pods;
  for (let ring = 0; ring < mostRings && left > 0; ring++) {
    reach = radiusOf(ring) + POD;
    left -= capacityOf(ring);
  }
  return reach;
}

const MOST_COVER = 0.35;

export function ringsThatFit(
  podsPerNode: readonly number[],
  { width, height }: { readonly width: number; readonly height: number },
): number {
  const coverOf = (rings: number): number =>
    podsPerNode.reduce((sum, pods) => sum + Math.PI * reachOf(pods, rings) ** 2, 0);
  let rings = MOST_RINGS;
  while (rings > 1 && coverOf(rings) > MOST_COVER * width * height) rings--;
  return rings;
}
