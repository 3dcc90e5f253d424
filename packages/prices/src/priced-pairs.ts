import { placeKey, type Place } from "./place.ts";
import type { Price, PriceTable, Unpriced } from "./table.ts";

export interface PricedPair {
  readonly key: string;
  readonly from: Place;
  readonly to: Place;
  readonly price: Price | Unpriced;
}

/** Caches the price of each pair: few pairs, many channels. */
export class PricedPairs {
  readonly #table: PriceTable;
  readonly #pairs = new Map<Place, Map<Place, PricedPair>>();

  constructor(table: PriceTable) {
    this.#table = table;
  }

  of(from: Place, to: Place): PricedPair {
    let row = this.#pairs.get(from);
    if (row === undefined) this.#pairs.set(from, (row = new Map()));
    let pair = row.get(to);
    if (pair === undefined) {
      const key = `${placeKey(from)}\n${placeKey(to)}`;
      row.set(to, (pair = { key, from, to, price: this.#table.between(from, to) }));
    }
    return pair;
  }
}
