import type { Quantity } from "./route.ts";

interface Family {
  readonly quantile: string;
  readonly loss: string;
  readonly protocol: string | null;
}

const FAMILIES: Readonly<Record<string, Family>> = {
  udp_rr: {
    quantile: "isochrone_rr_latency_quantile_seconds",
    loss: "isochrone_rr_loss_ratio",
    protocol: "udp",
  },
  tcp_rr: {
    quantile: "isochrone_rr_latency_quantile_seconds",
    loss: "isochrone_rr_loss_ratio",
    protocol: "tcp",
  },
  icmp: {
    quantile: "isochrone_icmp_rtt_quantile_seconds",
    loss: "isochrone_icmp_packet_loss_ratio",
    protocol: null,
  },
  tcp_connect: {
    quantile: "isochrone_tcp_connect_latency_quantile_seconds",
    loss: "isochrone_tcp_connect_loss_ratio",
    protocol: null,
  },
};

const QUANTILES: Readonly<Record<string, string>> = { p50: "0.5", p90: "0.9", p99: "0.99" };

export function promqlOf(source: string, target: string, method: string, quantity: Quantity): string {
  const family = FAMILIES[method] ?? FAMILIES["udp_rr"]!;
  const labels = [`source_node=${quoted(source)}`, `destination_node=${quoted(target)}`];
  if (family.protocol !== null) labels.push(`protocol="${family.protocol}"`);
  if (quantity === "loss") return `${family.loss}{${labels.join(", ")}}`;
  labels.push(`quantile="${QUANTILES[quantity] ?? "0.5"}"`);
  return `${family.quantile}{${labels.join(", ")}}`;
}

/** A PromQL string; escapes its end. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
