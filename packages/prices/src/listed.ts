import type { PriceList } from "@isochrone/topology";
import { readPrices } from "./read.ts";
import { PriceTable } from "./table.ts";

/** The table that the graph API lists. Throws PriceError. */
export function listedPrices({ prices }: PriceList): PriceTable {
  // A row of the list says that it has no `to`, one of a file leaves it out.
  const rows = prices.map(({ to, ...row }) => (to === null ? row : { ...row, to }));
  return PriceTable.of(readPrices({ replace: true, prices: rows }));
}
