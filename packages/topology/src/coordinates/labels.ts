// Adds supposed pairs from zone labels: unmeasured pairs count as far as the measured ones between the same
// zones. Their weight falls with the spread of the measured pairs, so meaningless labels have no effect.
import { seeded, type Draw, upperMedian } from "@isochrone/primitives";
import type { Pairs } from "./samples.ts";

interface SupposedPairs {
  readonly first: Int32Array;
  readonly second: Int32Array;
  readonly value: Float64Array;
  readonly weight: Float64Array;
}

const WITHIN = 3;
const BETWEEN = 3;
/** Minimum measured pairs of an area (two zones, or one). */
const LEAST_MEASURED = 3;
/** Weight relative to a measured pair if all measured pairs of the area agree. */
const MOST_WEIGHT = 0.5;
/** Median log deviation that halves the weight. */
const HALF_WEIGHT_SPREAD = 0.15;

interface Area {
  readonly value: number;
  readonly weight: number;
}

export function supposedPairs(pairs: Pairs, zone: Int32Array, seed: number): SupposedPairs {
  const areas = areasOf(pairs, zone);
  const random = seeded(seed);
  const mates = matesOf(zone);
  const first: number[] = [];
  const second: number[] = [];
  const chosen: Area[] = [];
  const suppose = (node: number, other: number): void => {
    const area = areas.get(areaKey(zone[node]!, zone[other]!));
    if (area === undefined || node === other || isMeasured(pairs, node, other)) return;
    first.push(node);
    second.push(other);
    chosen.push(area);
  };
  for (let node = 0; node < zone.length && areas.size > 0; node++) {
    if (zone[node]! < 0) continue;
    const near = mates.get(zone[node]!)!;
    for (let k = 0; k < WITHIN; k++) suppose(node, near[pick(near.length, random)]!);
    for (let k = 0; k < BETWEEN; k++) suppose(node, pick(zone.length, random));
  }
  return {
    first: Int32Array.from(first),
    second: Int32Array.from(second),
    value: Float64Array.from(chosen, ({ value }) => value),
    weight: Float64Array.from(chosen, ({ weight }) => weight),
  };
}

function areasOf({ first, second, value }: Pairs, zone: Int32Array): Map<number, Area> {
  const values = new Map<number, number[]>();
  for (let pair = 0; pair < value.length; pair++) {
    const from = zone[first[pair]!]!;
    const to = zone[second[pair]!]!;
    if (from < 0 || to < 0) continue;
    const key = areaKey(from, to);
    const known = values.get(key);
    if (known === undefined) values.set(key, [value[pair]!]);
    else known.push(value[pair]!);
  }
  const areas = new Map<number, Area>();
  for (const [key, measured] of values) {
    if (measured.length < LEAST_MEASURED) continue;
    const middle = upperMedian(measured)!;
    const spread = upperMedian(measured.map((one) => Math.abs(one - middle)))!;
    areas.set(key, { value: middle, weight: MOST_WEIGHT / (1 + (spread / HALF_WEIGHT_SPREAD) ** 2) });
  }
  return areas;
}

/** Factor of area keys, above the number of zones; its square is a safe integer. */
const MAX_ZONES = 2 ** 24;

function areaKey(a: number, b: number): number {
  return a < 0 || b < 0 ? -1 : Math.min(a, b) * MAX_ZONES + Math.max(a, b);
}

function matesOf(zone: Int32Array): Map<number, number[]> {
  const mates = new Map<number, number[]>();
  for (const [node, id] of zone.entries()) {
    const known = mates.get(id);
    if (known === undefined) mates.set(id, [node]);
    else known.push(node);
  }
  return mates;
}

function isMeasured({ rowStart, neighbour }: Pairs, node: number, other: number): boolean {
  for (let edge = rowStart[node]!; edge < rowStart[node + 1]!; edge++)
    if (neighbour[edge] === other) return true;
  return false;
}

function pick(count: number, random: Draw): number {
  return Math.floor(random() * count);
}
