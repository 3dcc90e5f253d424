// Splits a channel's bytes over the places of its pods.
import type { RoutingScope } from "@isochrone/topology";
import type { Place } from "./place.ts";

export interface WeighedPod {
  readonly node: string | null;
  readonly weight: number;
}

interface PlacePair<P> {
  readonly from: P;
  readonly to: P;
  readonly share: number;
}

interface End<P> {
  readonly pods: number;
  readonly byNode: ReadonlyMap<string, number>;
  readonly byPlace: ReadonlyMap<P, number>;
}

/**
 * Callers at a place have even shares of its bytes, exchanged evenly with all callees, or, with a preference,
 * with those in the narrowest non-empty scope: the planner's rule. Empty: an end has no scheduled pod.
 */
export function placePairs<P extends Place>(
  scopes: readonly RoutingScope[] | null,
  callers: readonly WeighedPod[],
  callees: readonly Pick<WeighedPod, "node">[],
  placeOf: (node: string) => P | undefined,
): PlacePair<P>[] {
  const to = endOf(callees.map(evenly), placeOf);
  // Without observed callers at these places, all send evenly.
  let from = endOf(callers, placeOf);
  if (from.pods === 0) from = endOf(callers.map(evenly), placeOf);
  if (from.pods === 0 || to.pods === 0) return [];
  const shares = new Shares<P>();
  if (scopes === null) {
    for (const [caller, count] of from.byPlace) shares.add(caller, to.byPlace, count / from.pods);
    return shares.pairs();
  }
  for (const [node, count] of from.byNode) {
    const caller = placeOf(node)!;
    shares.add(caller, nearest(scopes, node, caller, to), count / from.pods);
  }
  return shares.pairs();
}

function evenly({ node }: Pick<WeighedPod, "node">): WeighedPod {
  return { node, weight: 1 };
}

function endOf<P>(pods: readonly WeighedPod[], placeOf: (node: string) => P | undefined): End<P> {
  const byNode = new Map<string, number>();
  const byPlace = new Map<P, number>();
  let placed = 0;
  for (const { node, weight } of pods) {
    const place = node === null ? undefined : placeOf(node);
    if (node === null || place === undefined || weight === 0) continue;
    placed += weight;
    byNode.set(node, (byNode.get(node) ?? 0) + weight);
    byPlace.set(place, (byPlace.get(place) ?? 0) + weight);
  }
  return { pods: placed, byNode, byPlace };
}

function nearest<P extends Place>(
  scopes: readonly RoutingScope[],
  node: string,
  caller: P,
  to: End<P>,
): ReadonlyMap<P, number> {
  for (const scope of scopes) {
    const found =
      scope === "node"
        ? new Map(to.byNode.has(node) ? [[caller, to.byNode.get(node)!]] : [])
        : new Map(
            [...to.byPlace].filter(([place]) => caller[scope] !== null && place[scope] === caller[scope]),
          );
    if (found.size > 0) return found;
  }
  return to.byPlace;
}

class Shares<P> {
  readonly #shares = new Map<P, Map<P, number>>();

  add(from: P, callees: ReadonlyMap<P, number>, part: number): void {
    let total = 0;
    for (const count of callees.values()) total += count;
    let row = this.#shares.get(from);
    if (row === undefined) this.#shares.set(from, (row = new Map()));
    for (const [to, count] of callees) row.set(to, (row.get(to) ?? 0) + (part * count) / total);
  }

  pairs(): PlacePair<P>[] {
    return Array.from(this.#shares, ([from, row]) =>
      Array.from(row, ([to, share]): PlacePair<P> => ({ from, to, share })),
    ).flat();
  }
}
