// The network as one node sees it: the others around it, as far away as their answers take. Pure.
import type { ClusterNode } from "@isochrone/topology";
import { costBetween, findPair, PAIR, type ClusterView } from "../../model/cluster-view.ts";
import { mapOf } from "./map-layout.ts";

/** Round trips that rings are drawn at. */
const RINGS_MS: readonly number[] = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
/** Inner ones would lie on the node in the middle. */
const MOST_RINGS = 4;
/** Nearer nodes would hide the one in the middle. */
const NEAREST = 0.16;

/** A node around the one in the middle. */
export interface Neighbour {
  readonly node: ClusterNode;
  /** Round trip; NaN: not known, Infinity: no answer. */
  readonly ms: number;
  /** By the coordinates, or declared: nobody measures the pair. */
  readonly isEstimated: boolean;
  /** Radians. */
  readonly angle: number;
  /** Distance from the middle: 1 is the outermost ring; those without a figure stand outside of it. */
  readonly share: number;
}

export interface Isochrones {
  readonly neighbours: readonly Neighbour[];
  readonly rings: readonly { readonly ms: number; readonly share: number; readonly within: number }[];
}

/** Where those stand that don't answer, or of which nothing is known. */
const OUTSIDE = 1.12;
/**
 * How much of the way from its true direction to an even spread a node is turned, so that none hides another.
 */
const EVENNESS = 0.6;

/** null: there is no such node. */
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
  // By the square root: the first milliseconds matter the most, and would be a point.
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

/**
 * Directions as on the map, turned a little so that they are spread; in the order of names where nodes have
 * no place on the map.
 */
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
  // An even spread that begins where the true directions are on average, so that nodes are turned as little
  // as can be.
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
