import { NetworkError } from "./errors.ts";

export interface NetworkSite {
  readonly name: string;
  readonly region: string;
  readonly zone: string;
  readonly row: number;
}

/**
 * Names for the rows of data/planetlab-16.txt, in order. Zones and regions are distance classes (1-6 ms in a
 * zone, 8-35 ms in a region, 50-170 ms beyond); the names are ours.
 */
const SITE_NAMES = [
  "west-a-1",
  "west-a-2",
  "west-b-1",
  "east-a-1",
  "east-a-2",
  "east-b-1",
  "north-a-1",
  "north-a-2",
  "west-a-3",
  "west-b-2",
  "west-b-3",
  "east-a-3",
  "east-b-2",
  "north-a-3",
  "north-b-1",
  "north-b-2",
] as const;

export const MAX_DEFAULT_SITES = SITE_NAMES.length;

/**
 * The first 8 sites cover 3 regions and 5 zones.
 * @param count 1 to 16 @default 8
 */
export function defaultSites(count = 8): readonly NetworkSite[] {
  if (!Number.isInteger(count) || count < 1 || count > MAX_DEFAULT_SITES) {
    throw new RangeError(`the number of default sites must be from 1 to ${MAX_DEFAULT_SITES}, got ${count}`);
  }
  return SITE_NAMES.slice(0, count).map((name, row) => {
    const [region = "", letter] = name.split("-");
    return { name, region, zone: `${region}-${letter}`, row };
  });
}

/**
 * Finds rows in a table with names: by node name, else zone, else region.
 * @throws NetworkError `invalid_matrix` naming a node without a row
 */
export function rowsByName<T extends Omit<NetworkSite, "row">>(
  sites: readonly T[],
  names: readonly string[],
): (T & { readonly row: number })[] {
  return sites.map((site) => {
    const row = [site.name, site.zone, site.region].map((name) => names.indexOf(name)).find((at) => at >= 0);
    if (row !== undefined) return { ...site, row };
    throw new NetworkError(
      "invalid_matrix",
      `the matrix must have a row of the node ${site.name}, its zone ${site.zone} or its region ${site.region}, got ${names.join(", ")}`,
    );
  });
}
