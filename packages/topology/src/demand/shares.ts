// Shares of all that a Service is asked for. The page loads them without the graph's schemas.
import type { ZoneTraffic } from "./traffic.ts";

/** Share of its requests that leaves their zone, 0 to 1; null: unknown. */
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

/** Of all callers' requests; null without a deadline. */
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
