import { NetworkError } from "./errors.ts";

/** A node of the emulated network and whose round-trip times it takes on. */
export interface NetworkSite {
  readonly name: string;
  readonly region: string;
  readonly zone: string;
  /** Row and column of the matrix. */
  readonly row: number;
}

/**
 * Names for the rows of data/planetlab-16.txt, in its order. Zones and regions are classes of measured
 * distance (1-6 ms in a zone, 8-35 ms in a region, 50-170 ms beyond), the names are ours.
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

/** How many sites the built-in matrix has. */
export const MAX_DEFAULT_SITES = SITE_NAMES.length;

/**
 * The first `count` sites of the built-in matrix; the first 8 cover 3 regions and 5 zones.
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
 * The rows of nodes in a table with names: by the node's name, else its zone's, else its region's.
 * @throws NetworkError `invalid_matrix` naming a node that no row is for
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
