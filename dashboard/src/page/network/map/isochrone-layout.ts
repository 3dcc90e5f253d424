// The network as seen from one node: distance is round-trip time. Pure.
import type { ClusterNode } from "@isochrone/topology";
import { costBetween, findPair, PAIR, type ClusterView } from "../../model/cluster-view.ts";
import { mapOf } from "./map-layout.ts";

const RINGS_MS: readonly number[] = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
/** Further inner rings would overlap the central node. */
const MOST_RINGS = 4;
/** Minimum radius, so that nodes do not hide the central one. */
const NEAREST = 0.16;

export interface Neighbour {
  readonly node: ClusterNode;
  /** Round trip; NaN: unknown, Infinity: no answer. */
  readonly ms: number;
  readonly isEstimated: boolean;
  readonly angle: number;
  /** Distance from the centre: 1 is the outer ring; nodes without a figure are outside. */
  readonly share: number;
}

export interface Isochrones {
  readonly neighbours: readonly Neighbour[];
  readonly rings: readonly { readonly ms: number; readonly share: number; readonly within: number }[];
}

/** Radius of nodes without an answer, relative to the outer ring. */
export const OUTSIDE = 1.12;
/** Share of the rotation from true directions to an even spread, so that nodes do not overlap. */
const EVENNESS = 0.6;

export function isochronesOf(view: ClusterView, from: string): Isochrones | null {
  const row = view.nodes.findIndex(({ name }) => name === from);
  if (row < 0) return null;
  const ways = view.nodes.flatMap((node, column) =>
    column === row ? [] : [{ node, ...wayTo(view, row, column) }],
  );
  const known = ways.filter(({ ms }) => Number.isFinite(ms)).map(({ ms }) => ms);
  const farthest = Math.max(0, ...known);
  const outer = Math.max(3, RINGS_MS.findIndex((ms) => ms >= farthest) + 1 || RINGS_MS.length);
  const rings = RINGS_MS.slice(Math.max(0, outer - MOST_RINGS), outer);
  // Square root: the first milliseconds matter most and would be a point.
  const shareOf = (ms: number): number =>
    Number.isFinite(ms) ? Math.sqrt(Math.min(1, ms / rings.at(-1)!)) : OUTSIDE;
  const angles = anglesOf(view, from);
  return {
    neighbours: ways.map((way) => ({
      ...way,
      angle: angles.get(way.node.name)!,
      share: Math.max(NEAREST, shareOf(way.ms)),
    })),
    rings: rings.map((ms) => ({
      ms,
      share: shareOf(ms),
      within: known.filter((each) => each <= ms).length,
    })),
  };
}

function wayTo(view: ClusterView, row: number, column: number): Pick<Neighbour, "ms" | "isEstimated"> {
  const at = findPair(view.pairs, row, column);
  const flags = at < 0 ? PAIR.estimated : view.pairs.flags[at]!;
  if ((flags & PAIR.dead) !== 0) return { ms: Number.POSITIVE_INFINITY, isEstimated: false };
  const p50 = at < 0 ? Number.NaN : view.pairs.figures.p50[at]!;
  if (!Number.isNaN(p50)) return { ms: p50, isEstimated: (flags & PAIR.estimated) !== 0 };
  const ms = costBetween(view)(view.nodes[row]!.name, view.nodes[column]!.name);
  return { ms, isEstimated: true };
}

/** Map directions, spread a little; alphabetical order for nodes without coordinates. */
function anglesOf(view: ClusterView, from: string): ReadonlyMap<string, number> {
  const places = new Map(mapOf(view.nodes).map((place) => [place.node.name, place]));
  const middle = places.get(from);
  const others = view.nodes.filter(({ name }) => name !== from).map(({ name }) => name);
  const full = 2 * Math.PI;
  const trueAngle = (name: string): number | null => {
    const place = places.get(name);
    if (place === undefined || middle === undefined) return null;
    return (Math.atan2(place.y - middle.y, place.x - middle.x) + full) % full;
  };
  const sorted = others
    .map((name, index) => ({ name, angle: trueAngle(name) ?? (index / others.length) * full }))
    .sort((a, b) => a.angle - b.angle);
  // Aligns the even spread with the true directions to minimize rotation.
  const shift =
    sorted.reduce((sum, { angle }, index) => sum + angle - (index / sorted.length) * full, 0) /
    Math.max(1, sorted.length);
  return new Map(
    sorted.map(({ name, angle }, index) => {
      const even = (index / sorted.length) * full + shift;
      return [name, angle + EVENNESS * (even - angle)];
    }),
  );
}
