// What bytes cost between the nodes of a cluster, as a planner asks for it: a table by place.
import type { BillReason, BillZone, ClusterNode } from "@isochrone/topology";
import { placesOf, type Place } from "./place.ts";
import type { PriceTable } from "./table.ts";

/** Plain data, which may travel to a thread. */
export interface PairPrices {
  readonly currency: string;
  /** Place by node, in the order of the nodes. */
  readonly placeOf: Int32Array;
  readonly places: number;
  /**
   * By place and place: money for a byte between the two, at both ends together; NaN where it is unknown. As
   * on the bill, it is the same whichever way the bytes go.
   */
  readonly perByte: Float64Array;
  /** Some pairs of places without a price, each once. */
  readonly unknown: readonly UnknownPrice[];
  /** How many such pairs there are. */
  readonly unknownPairs: number;
}

interface UnknownPrice {
  readonly from: BillZone;
  readonly to: BillZone;
  readonly reason: BillReason;
}

/** Of pairs without a price so many are named. */
const MOST_NAMED = 10;

/** By the rules of the bill: what has no price there has none here. */
export function pairPrices(
  nodes: readonly Pick<ClusterNode, "name" | "provider" | "region" | "zone">[],
  table: PriceTable,
): PairPrices {
  const placeOf = placesOf(nodes);
  const indexOf = new Map<Place, number>();
  const byNode = Int32Array.from(nodes, ({ name }) => {
    const place = placeOf(name)!;
    if (!indexOf.has(place)) indexOf.set(place, indexOf.size);
    return indexOf.get(place)!;
  });
  const places = [...indexOf.keys()];
  const perByte = new Float64Array(places.length ** 2).fill(Number.NaN);
  const unknown: UnknownPrice[] = [];
  let unknownPairs = 0;
  for (const [a, from] of places.entries()) {
    for (const [b, to] of places.entries()) {
      if (b < a) continue;
      const price = table.between(from, to);
      if (typeof price === "string") {
        unknownPairs++;
        if (unknown.length < MOST_NAMED) unknown.push({ from, to, reason: price });
      } else perByte[a * places.length + b] = perByte[b * places.length + a] = price.perByte;
    }
  }
  return {
    currency: table.currency,
    placeOf: byNode,
    places: places.length,
    perByte,
    unknown,
    unknownPairs,
  };
}
