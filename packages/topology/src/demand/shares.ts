// Separate from the graph's schemas, which the page doesn't load.
import type { ZoneTraffic } from "./traffic.ts";

/** Share of requests that leave their zone, 0 to 1. Null: unknown. */
export function spillOf(
  zones: readonly Pick<ZoneTraffic, "zone" | "requestsPerSecond" | "now" | "advised">[],
  by: "now" | "advised",
): number | null {
  let [known, leaving] = [0, 0];
  for (const { zone, requestsPerSecond, [by]: shares } of zones) {
    if (shares === null || zone === null) continue;
    known += requestsPerSecond;
    leaving += requestsPerSecond * Math.max(0, 1 - (shares[zone] ?? 0));
  }
  return known > 0 ? leaving / known : null;
}

/** Share of all requests answered within the deadline. Null: no deadline. */
export function inTimeOf(
  zones: readonly Pick<ZoneTraffic, "inTimeRatio" | "requestsPerSecond">[],
): number | null {
  let [known, inTime] = [0, 0];
  for (const { requestsPerSecond, inTimeRatio } of zones) {
    if (inTimeRatio === null) continue;
    known += requestsPerSecond;
    inTime += requestsPerSecond * inTimeRatio;
  }
  return known > 0 ? inTime / known : null;
}
