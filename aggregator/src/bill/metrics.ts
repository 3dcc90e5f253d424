import { ScrapedMetrics } from "@isochrone/runtime";
import type { Bill, BillReason } from "@isochrone/topology";
import type { Registry } from "prom-client";

const MAX_NAMESPACES = 100;
/** An invalid namespace name, so it cannot collide. */
const OTHERS = "_others";
const MONTH_HOURS = 730;

const REASONS: Readonly<Record<BillReason, null>> = {
  direction: null,
  no_bytes: null,
  no_pods: null,
  no_price: null,
  no_zone: null,
  old: null,
};

/** @param bill the newest one; null before the first graph */
export function createBillMetrics(registry: Registry, bill: () => Promise<Bill | null>): void {
  const scraped = new ScrapedMetrics(registry);
  scraped.gauges(
    "isochrone_traffic_cost_per_hour",
    `Money for an hour of the traffic of now, by namespace of the callers: the ${MAX_NAMESPACES} dearest, and all others together.`,
    ["namespace", "currency"],
    async () => namespacesOf(await bill()),
  );
  scraped.gauges(
    "isochrone_traffic_outside_cost_per_hour",
    "Of it, money for traffic with the outside of the cluster, by name of the destination.",
    ["destination", "currency"],
    async () => destinationsOf(await bill()),
  );
  scraped.gauges(
    "isochrone_traffic_cost_unknown_channels",
    "Channels whose money is unknown, or is without a part, by reason.",
    ["reason"],
    async () => channelsOf(await bill()),
  );
  scraped.gauge(
    "isochrone_traffic_cost_unknown_bytes_per_second",
    "Bytes whose price is unknown.",
    async () => (await bill())?.total.unpricedBytesPerSecond ?? null,
  );
}

type Series<L extends string> = (readonly [Readonly<Record<L, string>>, number])[];

/** Namespaces of unknown cost have no series. */
function namespacesOf(bill: Bill | null): Series<"currency" | "namespace"> {
  if (bill === null) return [];
  const { currency } = bill;
  const priced = bill.namespaces.flatMap(({ namespace, perMonth }) =>
    perMonth === null ? [] : [{ namespace, perHour: perMonth / MONTH_HOURS }],
  );
  const others = priced.slice(MAX_NAMESPACES);
  return [
    ...priced.slice(0, MAX_NAMESPACES),
    ...(others.length === 0
      ? []
      : [{ namespace: OTHERS, perHour: others.reduce((sum, { perHour }) => sum + perHour, 0) }]),
  ].map(({ namespace, perHour }) => [{ namespace, currency }, perHour]);
}

/** The file's limit of destinations bounds the number of series. */
function destinationsOf(bill: Bill | null): Series<"currency" | "destination"> {
  return (bill?.destinations ?? []).flatMap(({ destination, perMonth }) =>
    perMonth === null ? [] : [[{ destination, currency: bill!.currency }, perMonth / MONTH_HOURS] as const],
  );
}

function channelsOf(bill: Bill | null): Series<"reason"> {
  if (bill === null) return [];
  const counts = new Map<string, number>(Object.keys(REASONS).map((reason) => [reason, 0]));
  for (const { unknown } of [...bill.channels, ...(bill.outside ?? [])])
    if (unknown !== null) counts.set(unknown, counts.get(unknown)! + 1);
  return Array.from(counts, ([reason, count]) => [{ reason }, count]);
}
