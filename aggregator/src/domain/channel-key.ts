// Which channel it is, who reports it, and what is counted of it.
import { BYTE_REPORTERS, LATENCY_BOUNDS_MS } from "@isochrone/telemetry";
import { OUTSIDE_NAMESPACE, OUTSIDE_UNKNOWN } from "@isochrone/telemetry/outside";

/**
 * Istio's proxies at both ends report each request. One reporter is used per channel and window, never two: a
 * waypoint, which sees the whole channel, if it reports, else the source's proxy (or ztunnel), else the
 * destination's.
 */
export const REPORTERS = ["waypoint", "source", "destination"] as const;

/**
 * Everything that reports channels, best first, and never two of them added up: Istio's proxies; who counts
 * bytes without them; a service graph drawn from traces; what Hubble sees at the client, at the server, or at
 * an end that it can't tell.
 */
export const CHANNEL_REPORTERS = [
  ...REPORTERS,
  ...BYTE_REPORTERS,
  "service_graph",
  "hubble_client",
  "hubble_server",
  "hubble_unknown",
] as const;

/**
 * Tells what the kernel of the sending node lets through, one way and between two nodes: figures beside those
 * of a channel, and never in place of them.
 */
export const FLOW_REPORTER = "network_manager" as const;

/** These count requests or sightings, and no bytes. */
const WITHOUT_BYTES: readonly Reporter[] = [
  "service_graph",
  "hubble_client",
  "hubble_server",
  "hubble_unknown",
];
/** These count the bytes of each direction for itself: those of answers as of a channel of their own. */
const ONE_WAY: readonly Reporter[] = [
  "netobserv_sender",
  "netobserv_receiver",
  "retina_sender",
  "retina_receiver",
];

/** Whether a reporter counts bytes: of each direction for itself, or of both together. */
export function bytesOf(reporter: Reporter): "none" | "one_way" | "both_ways" {
  if (WITHOUT_BYTES.includes(reporter)) return "none";
  return ONE_WAY.includes(reporter) ? "one_way" : "both_ways";
}

export type Reporter = (typeof CHANNEL_REPORTERS)[number] | typeof FLOW_REPORTER;

/**
 * What is counted of a channel. Errors are requests answered with 5xx, or with 0: not at all. Events are
 * sightings of a connection, sampled by who reports them: neither requests nor bytes, but a sign that there
 * is a channel.
 */
const CHANNEL_FLOWS = [
  "requests",
  "errors",
  "bytes",
  "tcpBytes",
  "events",
  /** What flows with a rate could have sent. */
  "allowedBytes",
  "droppedPackets",
] as const;

/** Requests that were answered, not by a failure, within each of the bounds of {@link LATENCY_BOUNDS_MS}. */
type LatencyFlow = `within${(typeof LATENCY_BOUNDS_MS)[number]}`;

/** The flow of a bound. */
export function latencyFlow(boundMs: (typeof LATENCY_BOUNDS_MS)[number]): LatencyFlow {
  return `within${boundMs}`;
}

/** Of channels and of demand, which has no bytes and no events. */
export const FLOWS = [...CHANNEL_FLOWS, ...LATENCY_BOUNDS_MS.map(latencyFlow)] as const;

export type Flow = (typeof CHANNEL_FLOWS)[number] | LatencyFlow;

/** Whose channel it is. */
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

/** An end outside of the cluster of which nothing is known. */
export const UNKNOWN_OUTSIDE: ChannelEnd = { namespace: OUTSIDE_NAMESPACE, workload: OUTSIDE_UNKNOWN };

export function channelBetween(source: ChannelEnd, target: ChannelEnd): ChannelKey {
  return {
    sourceNamespace: source.namespace,
    source: source.workload,
    targetNamespace: target.namespace,
    target: target.workload,
  };
}

/** The channel the other way round. */
export function reversed({ sourceNamespace, source, targetNamespace, target }: ChannelKey): ChannelKey {
  return {
    sourceNamespace: targetNamespace,
    source: target,
    targetNamespace: sourceNamespace,
    target: source,
  };
}

/** True if an end is outside of the cluster: no graph has a place for it. */
export function isOutside({ sourceNamespace, targetNamespace }: ChannelKey): boolean {
  return sourceNamespace === OUTSIDE_NAMESPACE || targetNamespace === OUTSIDE_NAMESPACE;
}
