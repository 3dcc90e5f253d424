import {
  isFailedResponse,
  type AttributeValue,
  type CounterTracks,
  type Increment,
  type Series,
} from "@isochrone/telemetry";
import { OUTSIDE_NAMESPACE } from "@isochrone/telemetry/outside";
import { REPORTERS, type ChannelKey, type Flow, type Reporter } from "../channel-key.ts";
import { IncrementSink } from "./increments.ts";
import type { PointTime } from "../point-time.ts";
import type { ChannelSideTarget, ChannelTarget, SinkTables } from "./sink-tables.ts";
import { NOT_YOURS, UNUSED_SINKS, type Sink } from "./sink.ts";
import { ownName, type NamedWorkload } from "../speakers/authority.ts";
import { OPEN_PERMIT, type Permit } from "../speakers/permit.ts";
import { mapOf, textOf, type Labels } from "../text.ts";

/** What Istio writes where it can't tell who it was. */
export const UNKNOWN_WORKLOAD = "unknown";

/** Istio's metrics, and what of a channel they count. Sizes come as histograms, or as the `_sum` of one. */
const FLOW_OF = mapOf<Flow>({
  istio_requests_total: "requests",
  istio_request_bytes: "bytes",
  istio_request_bytes_sum: "bytes",
  istio_response_bytes: "bytes",
  istio_response_bytes_sum: "bytes",
  istio_tcp_sent_bytes_total: "tcpBytes",
  istio_tcp_received_bytes_total: "tcpBytes",
});

/** Parts of the same metrics that nothing here is drawn from, and other metrics of Istio's standard set. */
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

/** Labels of Istio's metrics. */
type IstioLabels = Labels<
  | "reporter"
  | "response_code"
  | "grpc_response_status"
  | "source_workload"
  | "source_workload_namespace"
  | "destination_workload"
  | "destination_workload_namespace"
>;

/** What a metric of the service mesh flows into; null when the series isn't one. */
export function bindTraffic(
  series: Series,
  channels: SinkTables["channels"],
  tracks: CounterTracks,
  permit: Permit = OPEN_PERMIT,
): Sink | null {
  const flow = FLOW_OF.get(series.name);
  if (flow === undefined) return IGNORED_NAMES.test(series.name) ? IGNORED : null;
  const isHistogram = series.kind === "histogram" && flow === "bytes";
  if (!isHistogram && series.kind !== "sum") return UNUSED_SINKS.unknown_metric;
  const labels: IstioLabels = series.attributes;
  const reporter = REPORTERS.find((known) => known === labels.reporter);
  const source = textOf(labels.source_workload);
  const target = textOf(labels.destination_workload);
  if (reporter === undefined || source === null || target === null) return UNUSED_SINKS.unattributed;
  const sourceNamespace = namespaceOf(labels.source_workload_namespace);
  const targetNamespace = namespaceOf(labels.destination_workload_namespace);
  const key = { sourceNamespace, source, targetNamespace, target };
  const channel = openChannel(channels, key, reporter, permit);
  if ("unused" in channel) return channel;
  const { response_code: code = "", grpc_response_status: grpcStatus = "" } = labels;
  const failed = flow === "requests" && isFailedResponse(String(code), String(grpcStatus));
  return new TrafficSink(channel, reporter, flow, failed, series, tracks);
}

function namespaceOf(label: AttributeValue | undefined): string {
  return textOf(label) ?? UNKNOWN_WORKLOAD;
}

/** Reporters that name the ends by workload; all others may name them by service. */
const NAMES_WORKLOADS: ReadonlySet<Reporter> = new Set(["source", "destination", "waypoint", "linkerd"]);

/** A channel whose ends are known by other names than their own: those may mean others later. */
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

/**
 * Returns the channel, with both ends by their workloads' own names; or what its series flows into when the
 * speaker may not speak of it, or not yet.
 */
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
  // The end that reports is the one whose pod it is; what is outside of the cluster has none.
  const isOfSource = reporter === "source" || key.targetNamespace === OUTSIDE_NAMESPACE;
  const namespace = isOfSource ? key.sourceNamespace : key.targetNamespace;
  const channel = channels.open(key, permit.channelRoom(namespace));
  if (channel === null) return UNUSED_SINKS.too_many_channels;
  return source.mayChange || target.mayChange ? new NamedChannel(channel, source, target) : channel;
}

/** Returns the workload that a source means by a name; what has no name, or is outside, means itself. */
export function workloadNamed(
  { facts }: Permit,
  namespace: string,
  name: string,
  ofService: boolean,
): NamedWorkload {
  const isWorkload = name !== UNKNOWN_WORKLOAD && namespace !== OUTSIDE_NAMESPACE;
  return isWorkload ? facts.workloadNamed(namespace, name, ofService) : ownName(name);
}
