import { NetworkError } from "./errors.ts";
import { IDEAL_LINK, type LinkMatrix, type LinkSettings } from "./links.ts";
import { defaultMatrix, type RttMatrix } from "./matrix-file.ts";
import type { NetworkSite } from "./sites.ts";
import { SAME_ZONE_MS } from "./zone-matrix.ts";

/** Relative jitter; the minimum follows, so that short links aren't unnaturally steady. */
const JITTER_SHARE = 0.015;
const MIN_JITTER_MS = 0.1;
/** 1 Gbit/s: no bottleneck for a sample workflow, but transfers take time. */
const BANDWIDTH_BITS_PER_SECOND = 1e9;

/**
 * Links with the round-trip times of the sites' rows. A pair measured in one direction uses that value for
 * both. Sites of one row share a zone.
 * @param matrix @default the built-in one
 * @param places file and line by row, for messages
 * @throws NetworkError `invalid_matrix` if a site has no row or a pair has no time
 */
export function defaultLinks(
  sites: readonly Pick<NetworkSite, "name" | "row">[],
  matrix: RttMatrix = defaultMatrix(),
  places: readonly string[] = [],
): LinkMatrix {
  for (const { name, row } of sites) {
    if (matrix[row] !== undefined) continue;
    throw new NetworkError(
      "invalid_matrix",
      `${name} needs row ${row} (counted from 0), the matrix has ${matrix.length} rows`,
    );
  }
  return sites.map((from) =>
    sites.map((to) => (from === to ? IDEAL_LINK : linkBetween(from, to, matrix, places))),
  );
}

function linkBetween(
  from: Pick<NetworkSite, "name" | "row">,
  to: Pick<NetworkSite, "name" | "row">,
  matrix: RttMatrix,
  places: readonly string[],
): LinkSettings {
  const withinRow = from.row === to.row ? SAME_ZONE_MS : null;
  const rttMs = matrix[from.row]?.[to.row] ?? matrix[to.row]?.[from.row] ?? withinRow;
  if (rttMs === null) {
    const place = places[from.row];
    throw new NetworkError(
      "invalid_matrix",
      `${place === undefined ? "" : `${place}: `}${from.name} to ${to.name}: rows ${from.row} and ${to.row} must have a measured round-trip time, got none`,
    );
  }
  const jitterMs = Math.max(MIN_JITTER_MS, JITTER_SHARE * rttMs);
  return { rttMs, jitterMs, lossRatio: 0, bandwidthBitsPerSecond: BANDWIDTH_BITS_PER_SECOND, cut: false };
}
