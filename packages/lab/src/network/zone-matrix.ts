import type { RttMatrix } from "./matrix-file.ts";

export const SAME_ZONE_MS = 1;
const SAME_REGION_MS = 10;
const OTHER_REGION_MS = 80;

/** Round trips without measurements: 1 ms in a zone, 10 ms in a region, 80 ms beyond. Row i is site i's. */
export function matrixOfZones(
  sites: readonly { readonly region: string; readonly zone: string }[],
): RttMatrix {
  return sites.map((from, i) => sites.map((to, j) => (i === j ? null : rttMs(from, to))));
}

function rttMs(
  a: { readonly region: string; readonly zone: string },
  b: { readonly region: string; readonly zone: string },
): number {
  if (a.region !== b.region) return OTHER_REGION_MS;
  return a.zone === b.zone ? SAME_ZONE_MS : SAME_REGION_MS;
}
