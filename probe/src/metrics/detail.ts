import type { Method } from "@isochrone/telemetry";
import { RTT_BOUNDS } from "./names.ts";

/**
 * Metrics per pair of nodes. `full`: quantiles, counters and loss of every method; `lean`: quantiles of one
 * method, median and loss of the others; `summary`: median, loss and last answer of one method; `none`: only
 * sums over all peers.
 */
export const DETAILS = ["full", "lean", "summary", "none"] as const;
export type Detail = (typeof DETAILS)[number];

/** Upper bound of a probe's own series, tested. */
export const OWN_SERIES = 200;
/** The first measured method represents a pair if only one fits. */
const PREFERENCE: readonly Method[] = ["udp_rr", "tcp_rr", "icmp", "tcp_connect"];
const HISTOGRAM_SERIES = RTT_BOUNDS.length + 3;

export interface DetailOptions {
  readonly methods: readonly Method[];
  readonly maxSeries: number;
  readonly pairHistograms: boolean;
  readonly kepMetricNames: boolean;
}

export function preferredMethod(methods: readonly Method[]): Method | null {
  return PREFERENCE.find((method) => methods.includes(method)) ?? null;
}

/** Highest detail within the series limit for `peers` pairs. Requested histograms are always included. */
export function chooseDetail(peers: number, options: DetailOptions): Detail {
  const room = options.maxSeries - OWN_SERIES;
  return DETAILS.find((detail) => peers * pairSeries(detail, options) <= room) ?? "none";
}

export function pairSeries(detail: Detail, options: DetailOptions): number {
  const { methods, pairHistograms, kepMetricNames } = options;
  if (detail === "none") return 0;
  const kep = kepMetricNames ? 3 : 0;
  if (detail === "summary") return 3 + kep;
  const shared = 2 + (methods.includes("udp_rr") ? 1 : 0) + (methods.includes("icmp") ? 1 : 0);
  const each = methods.map((method) => methodSeries(detail, method, methods));
  const histograms = pairHistograms ? methods.length * HISTOGRAM_SERIES : 0;
  return each.reduce((sum, count) => sum + count, shared + kep) + histograms;
}

function methodSeries(detail: "full" | "lean", method: Method, methods: readonly Method[]): number {
  if (detail === "lean") return method === preferredMethod(methods) ? 4 : 2;
  return method === "tcp_connect" ? 3 : 6;
}
