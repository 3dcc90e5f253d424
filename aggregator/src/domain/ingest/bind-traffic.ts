import { isFailedResponse, type CounterTracks, type Increment, type Series } from "@isochrone/telemetry";
import { OUTSIDE_NAMESPACE } from "@isochrone/telemetry/outside";
import { isOutside, REPORTERS, reversed, type ChannelKey, type Flow, type Reporter } from "../channel-key.ts";
import { IncrementSink } from "./increments.ts";
import { callOf } from "./istio-ends.ts";
import { OwnCluster } from "./own-cluster.ts";
import type { PointTime } from "../point-time.ts";
import type { ChannelSideTarget, ChannelTarget, SinkTables } from "./sink-tables.ts";
import { NOT_YOURS, UNUSED_SINKS, type Sink } from "./sink.ts";
import { ownName, type NamedWorkload } from "../speakers/authority.ts";
import { OPEN_PERMIT, type Permit } from "../speakers/permit.ts";
import { mapOf, type Labels } from "../text.ts";

/** Istio's metrics by channel counter. Sizes are histograms or a histogram's `_sum`. */
const FLOW_OF = mapOf<Flow>({
  istio_requests_total: "requests",
  istio_request_bytes: "bytes",
  istio_request_bytes_sum: "bytes",
  istio_response_bytes: "bytes",
  istio_response_bytes_sum: "bytes",
  istio_tcp_sent_bytes_total: "tcpBytes",
  istio_tcp_received_bytes_total: "tcpBytes",
});

/** Counters of response bytes. External traffic has one channel per direction. */
const ANSWERS = /^istio_(response_bytes(_sum)?|tcp_sent_bytes_total)$/;

const IGNORED_NAMES =
  /^istio_(re(quest|sponse)_bytes_(count|bucket)|re(quest|sponse)_messages_total|request_duration_milliseconds(_(sum|count|bucket))?|tcp_connections_(opened|closed)_total)$/;
const IGNORED: Sink = { live: true, unused: null };

class TrafficSink extends IncrementSink {
  readonly #channel: ChannelTarget;
  readonly #side: ChannelSideTarget;
  readonly #flow: Flow;
  readonly #failed: boolean;

  constructor(
    channel: ChannelTarget,
    reporter: Reporter,
    flow: Flow,
    failed: boolean,
    series: Series,
    tracks: CounterTracks,
  ) {
    super(series, tracks);
    this.#channel = channel;
    this.#side = channel.side(reporter);
    this.#flow = flow;
    this.#failed = failed;
  }

  get live(): boolean {
    return this.#channel.live;
  }

  protected take(increment: Increment): void {
    this.#side.take(this.#flow, increment);
    if (this.#failed) this.#side.take("errors", increment);
  }

  histogram(point: PointTime, _count: number, sum: number): void {
    this.number(point, sum);
  }
}

type IstioLabels = Labels<"reporter" | "response_code" | "grpc_response_status">;

export function bindTraffic(
  series: Series,
  channels: SinkTables["channels"],
  tracks: CounterTracks,
  permit: Permit = OPEN_PERMIT,
  clusters: OwnCluster = new OwnCluster(),
): Sink | null {
  const flow = FLOW_OF.get(series.name);
  if (flow === undefined) return IGNORED_NAMES.test(series.name) ? IGNORED : null;
  const isHistogram = series.kind === "histogram" && flow === "bytes";
  if (!isHistogram && series.kind !== "sum") return UNUSED_SINKS.unknown_metric;
  const reporter = reporterOf(series);
  if (reporter === null) return UNUSED_SINKS.unattributed;
  const key = keyOf(series, reporter, clusters, permit);
  if ("live" in key) return key;
  const channel = openChannel(channels, key, reporter, permit);
  if ("unused" in channel) return channel;
  return new TrafficSink(channel, reporter, flow, flow === "requests" && isFailed(series), series, tracks);
}

function keyOf(
  series: Series,
  reporter: Reporter,
  clusters: OwnCluster,
  { facts }: Permit,
): ChannelKey | Sink {
  const call = callOf(series, reporter, clusters, facts);
  if ("live" in call) return call;
  return isOutside(call) && ANSWERS.test(series.name) ? reversed(call) : call;
}

function reporterOf({ attributes }: Series): (typeof REPORTERS)[number] | null {
  const labels: IstioLabels = attributes;
  return REPORTERS.find((known) => known === labels.reporter) ?? null;
}

function isFailed({ attributes }: Series): boolean {
  const labels: IstioLabels = attributes;
  const { response_code: code = "", grpc_response_status: grpcStatus = "" } = labels;
  return isFailedResponse(String(code), String(grpcStatus));
}

/** Reporters that name ends by workload. Others may use service names. */
const NAMES_WORKLOADS: ReadonlySet<Reporter> = new Set(["source", "destination", "waypoint", "linkerd"]);

/** A channel with resolved names, which may resolve differently later. */
class NamedChannel implements ChannelTarget {
  readonly #channel: ChannelTarget;
  readonly #source: NamedWorkload;
  readonly #target: NamedWorkload;

  constructor(channel: ChannelTarget, source: NamedWorkload, target: NamedWorkload) {
    this.#channel = channel;
    this.#source = source;
    this.#target = target;
  }

  get live(): boolean {
    return this.#channel.live && this.#source.isCurrent && this.#target.isCurrent;
  }

  side(reporter: Reporter): ChannelSideTarget {
    return this.#channel.side(reporter);
  }
}

/** Returns a sink instead of a channel if the sender lacks permission or the names are unknown. */
export function openChannel(
  channels: SinkTables["channels"],
  told: ChannelKey,
  reporter: Reporter,
  permit: Permit,
): ChannelTarget | Sink {
  const ofService = !NAMES_WORKLOADS.has(reporter);
  const source = workloadNamed(permit, told.sourceNamespace, told.source, ofService);
  const target = workloadNamed(permit, told.targetNamespace, told.target, ofService);
  const key = { ...told, source: source.name, target: target.name };
  const isTheirs = permit.authority.speaksForChannel(key, reporter);
  if (isTheirs === "no") return NOT_YOURS;
  if (isTheirs === "unknown") return UNUSED_SINKS.unknown_node;
  // The reporter belongs to the pod at its end. An external end has no pod.
  const isOfSource = key.targetNamespace === OUTSIDE_NAMESPACE || reporter === "source";
  const isWithin = isOfSource && key.sourceNamespace !== OUTSIDE_NAMESPACE;
  const namespace = isWithin ? key.sourceNamespace : key.targetNamespace;
  const channel = channels.open(key, permit.channelRoom(namespace));
  if (channel === null) return UNUSED_SINKS.too_many_channels;
  return source.mayChange || target.mayChange ? new NamedChannel(channel, source, target) : channel;
}

/** Resolves a name to a workload. External names are returned unchanged. */
export function workloadNamed(
  { facts }: Permit,
  namespace: string,
  name: string,
  ofService: boolean,
): NamedWorkload {
  return namespace === OUTSIDE_NAMESPACE ? ownName(name) : facts.workloadNamed(namespace, name, ofService);
}
