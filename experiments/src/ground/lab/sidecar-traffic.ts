/** What the sidecars have counted of one channel. */
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

/** Totals by channel over the pages of all sidecars, as the calling side counted them. */
export function trafficOf(pages: readonly string[]): ReadonlyMap<string, ChannelTotals> {
  const totals = new Map<string, ChannelTotals>();
  for (const page of pages) addPage(page, totals);
  return totals;
}

function addPage(text: string, totals: Map<string, ChannelTotals>): void {
  for (const line of text.split("\n")) {
    const [, family = "", labels = "", value] = LINE.exec(line) ?? [];
    const field = FAMILIES[family as keyof typeof FAMILIES];
    if (field === undefined || !labels.includes(`reporter="source"`)) continue;
    const source = labelValue(labels, "source_workload");
    const target = labelValue(labels, "destination_service_name");
    const key = channelKey(source, target);
    const channel = totals.get(key) ?? { requests: 0, bytes: 0 };
    channel[field] += Number(value);
    totals.set(key, channel);
  }
}

function labelValue(labels: string, name: string): string {
  return new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
}
