import { PriceTable, readPrices } from "@isochrone/prices";
import { checkedFile, checkedFileIfAny } from "@isochrone/runtime";

const read = (value: unknown): PriceTable => PriceTable.of(readPrices(value));

/** The prices of a file beside those that are built in. Throws SettingsError. */
export function loadPrices(path: string): PriceTable {
  return checkedFile(path, "prices", read);
}

/** As {@link loadPrices}; without such a file those that are built in. */
export function pricesIfAny(path: string): PriceTable {
  return checkedFileIfAny(path, "prices", read) ?? PriceTable.of(null);
}
