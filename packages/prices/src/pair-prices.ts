// Byte prices between a cluster's nodes for a planner, by place.
import type { BillReason, BillZone, ClusterNode } from "@isochrone/topology";
import { placesOf, type Place } from "./place.ts";
import type { PriceTable } from "./table.ts";

export interface PairPrices {
  readonly currency: string;
  readonly placeOf: Int32Array;
  readonly places: number;
  /**
   * Money per byte between two places, both ends together; NaN: unknown. Independent of the direction, as on
   * the bill.
   */
  readonly perByte: Float64Array;
  readonly unknown: readonly UnknownPrice[];
  readonly unknownPairs: number;
}

interface UnknownPrice {
  readonly from: BillZone;
  readonly to: BillZone;
  readonly reason: BillReason;
}

const MOST_NAMED = 10;

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
