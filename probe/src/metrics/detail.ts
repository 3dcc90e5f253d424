import type { Method } from "@isochrone/telemetry";
import { RTT_BOUNDS } from "./names.ts";

/**
 * How much each pair of nodes shows on the /metrics page. `full`: quantiles, counters and loss of every
 * method; `lean`: the quantiles of one method, median and loss of the others; `summary`: median and loss of
 * one method, and when it last answered; `none`: only what is summed up over all peers.
 */
export const DETAILS = ["full", "lean", "summary", "none"] as const;
export type Detail = (typeof DETAILS)[number];

/** Series that a probe has for itself, whatever its peers: a bound that tests hold. */
export const OWN_SERIES = 200;
/** Which method stands for the pair where there is room for one: the first that is measured. */
const PREFERENCE: readonly Method[] = ["udp_rr", "tcp_rr", "icmp", "tcp_connect"];
/** Buckets, +Inf, sum and count. */
const HISTOGRAM_SERIES = RTT_BOUNDS.length + 3;

export interface DetailOptions {
  readonly methods: readonly Method[];
  readonly maxSeries: number;
  readonly pairHistograms: boolean;
  readonly kepMetricNames: boolean;
}

/** The method that stands for a pair. */
export function preferredMethod(methods: readonly Method[]): Method | null {
  return PREFERENCE.find((method) => methods.includes(method)) ?? null;
}

/**
 * The most detail with which `peers` pairs stay within the bound of series. Histograms that were asked for
 * are given regardless.
 */
export function chooseDetail(peers: number, options: DetailOptions): Detail {
  const room = options.maxSeries - OWN_SERIES;
  return DETAILS.find((detail) => peers * pairSeries(detail, options) <= room) ?? "none";
}

/** Most series that one pair can have. */
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
