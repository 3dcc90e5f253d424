import type { PriceList } from "@isochrone/topology";
import { readPrices } from "./read.ts";
import { PriceTable } from "./table.ts";

/** Parses the graph API's price list. Throws PriceError. */
export function listedPrices({ prices }: PriceList): PriceTable {
  const rows = prices.map(({ to, ...row }) => (to === null ? row : { ...row, to }));
  return PriceTable.of(readPrices({ replace: true, prices: rows }));
}
