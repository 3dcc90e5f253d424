// How a channel's bytes are split over the places of its pods.
import type { RoutingScope } from "@isochrone/topology";
import type { Place } from "./place.ts";

/** A pod, and how much it sends beside the others of its end. */
export interface WeighedPod {
  readonly node: string | null;
  readonly weight: number;
}

/** A share of a channel's bytes, of callers in one place with callees in another. */
interface PlacePair<P> {
  readonly from: P;
  readonly to: P;
  /** 0 to 1. */
  readonly share: number;
}

/** Pods of one end that are on nodes of the cluster, by their weights. */
interface End<P> {
  readonly pods: number;
  readonly byNode: ReadonlyMap<string, number>;
  readonly byPlace: ReadonlyMap<P, number>;
}

/**
 * Callers on nodes of a place have even shares of its bytes. Each exchanges them with all callees on nodes
 * alike, or, where a nearer one is preferred, with those of the narrowest scope that has any: the planner's
 * rule. Empty: an end has no pod on a node.
 */
export function placePairs<P extends Place>(
  scopes: readonly RoutingScope[] | null,
  callers: readonly WeighedPod[],
  callees: readonly Pick<WeighedPod, "node">[],
  placeOf: (node: string) => P | undefined,
): PlacePair<P>[] {
  const to = endOf(callees.map(evenly), placeOf);
  // Where nobody was seen to call from these places, all send alike.
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

/** Callees by place of the narrowest scope around a caller that has any. */
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

  /** Shares `part` out evenly among the callees. */
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
