import { PriceTable, readPrices } from "@isochrone/prices";
import { checkedFile, checkedFileIfAny } from "@isochrone/runtime";

const read = (value: unknown): PriceTable => PriceTable.of(readPrices(value));

export function loadPrices(path: string): PriceTable {
  return checkedFile(path, "prices", read);
}

/** Like {@link loadPrices}; an empty path gives the built-in prices. */
export function pricesIfAny(path: string): PriceTable {
  return checkedFileIfAny(path, "prices", read) ?? PriceTable.of(null);
}
