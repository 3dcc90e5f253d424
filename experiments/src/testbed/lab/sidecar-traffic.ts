import { isKeyOf } from "@isochrone/primitives";

/** Sidecar counters of a channel. */
export interface ChannelTotals {
  requests: number;
  bytes: number;
}

const FAMILIES = {
  istio_requests_total: "requests",
  istio_request_bytes_sum: "bytes",
  istio_response_bytes_sum: "bytes",
} as const;
const LINE = /^(\w+)\{(.*)\} (\S+)$/;

/** Key of a channel in the totals. */
export const channelKey = (source: string, target: string): string => `${source} ${target}`;

/** Parses a sidecar's metrics page by channel, counted by the caller. */
export function trafficOf(page: string): ReadonlyMap<string, ChannelTotals> {
  const totals = new Map<string, ChannelTotals>();
  for (const line of page.split("\n")) {
    const [, family = "", labels = "", value] = LINE.exec(line) ?? [];
    if (!isKeyOf(FAMILIES, family) || !labels.includes(`reporter="source"`)) continue;
    const source = labelValue(labels, "source_workload");
    const target = labelValue(labels, "destination_service_name");
    const key = channelKey(source, target);
    const channel = totals.get(key) ?? { requests: 0, bytes: 0 };
    channel[FAMILIES[family]] += Number(value);
    totals.set(key, channel);
  }
  return totals;
}

/** Keyed by pod. */
export type PodTraffic = ReadonlyMap<string, ReadonlyMap<string, ChannelTotals>>;

/**
 * Returns counter increases over all pods. Computes them per pod: a removed pod takes its counters with it,
 * so a sum would fall or hide its replacement's counts.
 */
export function trafficBetween(before: PodTraffic, after: PodTraffic): ReadonlyMap<string, ChannelTotals> {
  const sums = new Map<string, ChannelTotals>();
  for (const [pod, channels] of after)
    for (const [key, { requests, bytes }] of channels) {
      const known = before.get(pod)?.get(key) ?? { requests: 0, bytes: 0 };
      const sum = sums.get(key) ?? { requests: 0, bytes: 0 };
      sum.requests += requests - known.requests;
      sum.bytes += bytes - known.bytes;
      sums.set(key, sum);
    }
  return sums;
}

function labelValue(labels: string, name: string): string {
  return new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
}
