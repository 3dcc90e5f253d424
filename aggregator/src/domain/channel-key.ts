import { BYTE_REPORTERS, LATENCY_BOUNDS_MS } from "@isochrone/telemetry";
import { OUTSIDE_NAMESPACE, OUTSIDE_UNKNOWN } from "@isochrone/telemetry/outside";

/**
 * Istio's proxies at both ends report each request. Only one reporter counts per channel and window: the
 * waypoint, which sees the whole channel, else the source's proxy (or ztunnel), else the destination's.
 */
export const REPORTERS = ["waypoint", "source", "destination"] as const;

/**
 * All reporters of channels in order of precedence; never added up. Istio's proxies, byte counters, service
 * graphs from traces, and Hubble at the client, the server, or an unknown end.
 */
export const CHANNEL_REPORTERS = [
  ...REPORTERS,
  ...BYTE_REPORTERS,
  "service_graph",
  "hubble_client",
  "hubble_server",
  "hubble_unknown",
] as const;

/** Bytes that the sending node's kernel allows, one way. Never replaces a channel's figures. */
export const FLOW_REPORTER = "network_manager" as const;

const WITHOUT_BYTES: readonly Reporter[] = [
  "service_graph",
  "hubble_client",
  "hubble_server",
  "hubble_unknown",
];
/** Reporters that count bytes per direction. Answers are a channel of their own. */
const ONE_WAY: readonly Reporter[] = [
  "netobserv_sender",
  "netobserv_receiver",
  "retina_sender",
  "retina_receiver",
];

/** Returns whether a reporter counts bytes, and whether per direction or in total. */
export function bytesOf(reporter: Reporter): "none" | "one_way" | "both_ways" {
  if (WITHOUT_BYTES.includes(reporter)) return "none";
  return ONE_WAY.includes(reporter) ? "one_way" : "both_ways";
}

export type Reporter = (typeof CHANNEL_REPORTERS)[number] | typeof FLOW_REPORTER;

/**
 * Counters of a channel. Errors are requests with status 5xx or 0 (no answer). Events are sampled sightings
 * of a connection: evidence of a channel, but no count.
 */
const CHANNEL_FLOWS = [
  "requests",
  "errors",
  "bytes",
  "tcpBytes",
  "events",
  /** Bytes that rate-limited flows could have sent. */
  "allowedBytes",
  "droppedPackets",
] as const;

/** Successful requests within each bound of {@link LATENCY_BOUNDS_MS}. */
type LatencyFlow = `within${(typeof LATENCY_BOUNDS_MS)[number]}`;

export function latencyFlow(boundMs: (typeof LATENCY_BOUNDS_MS)[number]): LatencyFlow {
  return `within${boundMs}`;
}

/** Counters of channels and of demand. Demand has no bytes or events. */
export const FLOWS = [...CHANNEL_FLOWS, ...LATENCY_BOUNDS_MS.map(latencyFlow)] as const;

export type Flow = (typeof CHANNEL_FLOWS)[number] | LatencyFlow;

export interface ChannelKey {
  readonly sourceNamespace: string;
  readonly source: string;
  readonly targetNamespace: string;
  readonly target: string;
}

export interface ChannelEnd {
  readonly namespace: string;
  readonly workload: string;
}

export const UNKNOWN_OUTSIDE: ChannelEnd = { namespace: OUTSIDE_NAMESPACE, workload: OUTSIDE_UNKNOWN };

export function channelBetween(source: ChannelEnd, target: ChannelEnd): ChannelKey {
  return {
    sourceNamespace: source.namespace,
    source: source.workload,
    targetNamespace: target.namespace,
    target: target.workload,
  };
}

export function reversed({ sourceNamespace, source, targetNamespace, target }: ChannelKey): ChannelKey {
  return {
    sourceNamespace: targetNamespace,
    source: target,
    targetNamespace: sourceNamespace,
    target: source,
  };
}

/** Returns true if an end is outside the cluster; graphs have no place for it. */
export function isOutside({ sourceNamespace, targetNamespace }: ChannelKey): boolean {
  return sourceNamespace === OUTSIDE_NAMESPACE || targetNamespace === OUTSIDE_NAMESPACE;
}
