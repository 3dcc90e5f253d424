// How a channel's bytes are split over the places of its pods.
import { routingScopes, type Channel, type PodPlacement, type RoutingScope } from "@isochrone/topology";
import type { WeightOf } from "./caller-weights.ts";
import type { Place, PlaceOf } from "./place.ts";

/** A share of a channel's bytes, of callers in one place with callees in another. */
interface PlacePair {
  readonly from: Place;
  readonly to: Place;
  /** 0 to 1. */
  readonly share: number;
}

/** Pods of one end that are on nodes of the cluster, by their weights. */
interface End {
  readonly pods: number;
  readonly byNode: ReadonlyMap<string, number>;
  readonly byPlace: ReadonlyMap<Place, number>;
}

/**
 * Callers on nodes of a place have even shares of its bytes. Each exchanges them with all callees on nodes
 * alike, or, where a nearer one is preferred, with those of the narrowest scope that has any: the planner's
 * rule. Empty: an end has no pod on a node.
 */
export function placePairs(
  channel: Channel,
  callers: readonly PodPlacement[],
  callees: readonly PodPlacement[],
  placeOf: PlaceOf,
  weightOf: WeightOf,
): PlacePair[] {
  const to = endOf(callees, placeOf, () => 1);
  // Where nobody was seen to call from these places, all send alike.
  let from = endOf(callers, placeOf, weightOf);
  if (from.pods === 0) from = endOf(callers, placeOf, () => 1);
  if (from.pods === 0 || to.pods === 0) return [];
  const shares = new Shares();
  const scopes = routingScopes(channel);
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

function endOf(pods: readonly PodPlacement[], placeOf: PlaceOf, weightOf: WeightOf): End {
  const byNode = new Map<string, number>();
  const byPlace = new Map<Place, number>();
  let placed = 0;
  for (const { node } of pods) {
    const place = node === null ? undefined : placeOf(node);
    if (node === null || place === undefined) continue;
    const weight = weightOf(place);
    if (weight === 0) continue;
    placed += weight;
    byNode.set(node, (byNode.get(node) ?? 0) + weight);
    byPlace.set(place, (byPlace.get(place) ?? 0) + weight);
  }
  return { pods: placed, byNode, byPlace };
}

/** Callees by place of the narrowest scope around a caller that has any. */
function nearest(
  scopes: readonly RoutingScope[],
  node: string,
  caller: Place,
  to: End,
): ReadonlyMap<Place, number> {
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

class Shares {
  readonly #shares = new Map<Place, Map<Place, number>>();

  /** Shares `part` out evenly among the callees. */
  add(from: Place, callees: ReadonlyMap<Place, number>, part: number): void {
    let total = 0;
    for (const count of callees.values()) total += count;
    let row = this.#shares.get(from);
    if (row === undefined) this.#shares.set(from, (row = new Map()));
    for (const [to, count] of callees) row.set(to, (row.get(to) ?? 0) + (part * count) / total);
  }

  pairs(): PlacePair[] {
    return Array.from(this.#shares, ([from, row]) =>
      Array.from(row, ([to, share]): PlacePair => ({ from, to, share })),
    ).flat();
  }
}
