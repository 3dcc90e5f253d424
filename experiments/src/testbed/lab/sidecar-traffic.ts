import { isKeyOf } from "@isochrone/primitives";

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

/** Counter increases, per pod: a removed pod takes its counters along, so a sum over pods could fall. */
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
