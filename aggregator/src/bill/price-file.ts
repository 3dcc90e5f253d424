import { existsSync } from "node:fs";
import { PriceError, PriceTable, readPrices } from "@isochrone/prices";
import { reasonOf } from "@isochrone/primitives";
import { readTextFile, SettingsError, yamlValue } from "@isochrone/runtime";

/** The prices of a file beside those that are built in. Throws SettingsError. */
export function loadPrices(path: string): PriceTable {
  try {
    return PriceTable.of(readPrices(yamlValue(readTextFile(path))));
  } catch (error) {
    if (error instanceof PriceError)
      throw new SettingsError(error.mistakes.map((mistake) => `${path}: ${mistake}`));
    throw new SettingsError([
      `prices must be in a readable YAML or JSON file, got ${path}: ${reasonOf(error)}`,
    ]);
  }
}

/** As {@link loadPrices}; without such a file those that are built in. */
export function pricesIfAny(path: string): PriceTable {
  return existsSync(path) ? loadPrices(path) : PriceTable.of(null);
}
