// Channels without a service mesh, from the OpenTelemetry Collector's service graph connector (spans) and
// Cilium's Hubble (flows). Neither counts bytes.
import type { Attributes, CounterTracks, Increment, Series } from "@isochrone/telemetry";
import { reversed, type ChannelKey, type Flow, type Reporter } from "../channel-key.ts";
import {
  edgeOf,
  hubbleEnds,
  type EdgeClusters,
  type HubbleEnds,
  type NameKind,
} from "./bind-service-graph-names.ts";
import { openChannel } from "./bind-traffic.ts";
import { IncrementSink } from "./increments.ts";
import { OwnCluster } from "./own-cluster.ts";
import type { ChannelSideTarget, ChannelTarget, SinkTables } from "./sink-tables.ts";
import { UNUSED_SINKS, type Sink } from "./sink.ts";
import { OPEN_PERMIT, type Permit } from "../speakers/permit.ts";
import { mapOf, type Labels } from "../text.ts";

const IGNORED_NAMES =
  /^(traces_service_graph_(request_(server|client)(_seconds)?(_(sum|count|bucket))?|unpaired_spans_total|dropped_spans_total)|hubble_http_request_duration_seconds(_(sum|count|bucket))?)$/;
const IGNORED: Sink = { live: true, unused: null };

type EdgeLabels = Labels<"client" | "connection_type" | "virtual_node">;
type HubbleLabels = HubbleEnds &
  Labels<"reporter" | "status" | "subtype" | "traffic_direction" | "type" | "verdict">;

interface Reading {
  readonly key: ChannelKey;
  readonly reporter: Reporter;
  readonly flows: readonly Flow[];
}

/** Returns null if neither end is a workload, or "ignored" for a duplicate of another series. */
type Reader = (attributes: Attributes, clusters: EdgeClusters) => Reading | Sink | "ignored" | null;

const READERS = mapOf<Reader>({
  traces_service_graph_request_total: (attributes, clusters) => readGraph(attributes, ["requests"], clusters),
  traces_service_graph_request_failed_total: (attributes, clusters) =>
    readGraph(attributes, ["errors"], clusters),
  hubble_http_requests_total: readHubbleRequests,
  hubble_http_responses_total: readHubbleResponses,
  hubble_flows_processed_total: readHubbleFlows,
});

class ServiceGraphSink extends IncrementSink {
  readonly #channel: ChannelTarget;
  readonly #side: ChannelSideTarget;
  readonly #flows: readonly Flow[];

  constructor(channel: ChannelTarget, { reporter, flows }: Reading, series: Series, tracks: CounterTracks) {
    super(series, tracks);
    this.#channel = channel;
    this.#side = channel.side(reporter);
    this.#flows = flows;
  }

  get live(): boolean {
    return this.#channel.live;
  }

  protected take(increment: Increment): void {
    for (const flow of this.#flows) this.#side.take(flow, increment);
  }
}

export function bindServiceGraph(
  series: Series,
  channels: SinkTables["channels"],
  tracks: CounterTracks,
  permit: Permit = OPEN_PERMIT,
  clusters: OwnCluster = new OwnCluster(),
): Sink | null {
  const reader = READERS.get(series.name);
  if (reader === undefined) return IGNORED_NAMES.test(series.name) ? IGNORED : null;
  if (series.kind !== "sum") return UNUSED_SINKS.unknown_metric;
  const isNew = series.state === undefined;
  const reading = reader(series.attributes, (cluster, namespace) =>
    clusters.note("otel", cluster, namespace, false, isNew),
  );
  if (reading === "ignored") return IGNORED;
  if (reading === null) return UNUSED_SINKS.unattributed;
  if ("live" in reading) return reading;
  const channel = openChannel(channels, reading.key, reading.reporter, permit);
  if ("unused" in channel) return channel;
  return new ServiceGraphSink(channel, reading, series, tracks);
}

/** A database is named by its schema, an unpaired client span's server by the client's peer name. */
const SERVER_NAMES = mapOf<NameKind>({ database: "other", virtual_node: "peer" });

function readGraph(
  attributes: Attributes,
  flows: readonly Flow[],
  clusters: EdgeClusters,
): Reading | Sink | null {
  const edge: EdgeLabels = attributes;
  const connection = String(edge.connection_type ?? "");
  // The client of an unpaired server span is no workload.
  const isVirtual = edge.virtual_node === "client" || edge.client === "user";
  const isUser = isVirtual && connection === "virtual_node";
  const server = isUser ? "service" : (SERVER_NAMES.get(connection) ?? "service");
  const key = edgeOf(attributes, { client: isUser ? null : "service", server }, clusters);
  if (key === "other_cluster") return UNUSED_SINKS.other_cluster;
  return key === null ? null : { key, reporter: "service_graph", flows };
}

/** The httpV2 plugin counts a request at its response, the older plugin at the request. */
function readHubbleRequests(attributes: HubbleLabels): Reading | null {
  const key = hubbleEnds(attributes);
  if (key === null) return null;
  const failed = isFailure(attributes.status);
  return { key, reporter: hubbleReporter(attributes), flows: failed ? ["requests", "errors"] : ["requests"] };
}

/** Only the older plugin has responses. Their source is the server, so the channel is reversed. */
function readHubbleResponses(attributes: HubbleLabels): Reading | "ignored" | null {
  if (!isFailure(attributes.status)) return "ignored";
  const ends = hubbleEnds(attributes);
  return ends === null
    ? null
    : { key: reversed(ends), reporter: hubbleReporter(attributes), flows: ["errors"] };
}

/** Counts a packet once, at delivery. Delivery of an answer to the client has the direction egress. */
function readHubbleFlows(attributes: HubbleLabels): Reading | "ignored" | null {
  if (attributes.type !== "Trace" || attributes.subtype !== "to-endpoint") return "ignored";
  if (attributes.verdict !== "FORWARDED") return "ignored";
  const direction = attributes.traffic_direction;
  if (direction === "egress") return "ignored";
  const key = hubbleEnds(attributes);
  if (key === null || direction !== "ingress") return null;
  return { key, reporter: "hubble_server", flows: ["events"] };
}

function hubbleReporter({ reporter }: HubbleLabels): Reporter {
  if (reporter === "client") return "hubble_client";
  return reporter === "server" ? "hubble_server" : "hubble_unknown";
}

function isFailure(status: unknown): boolean {
  return typeof status === "string" && (status === "0" || /^5\d\d$/.test(status));
}
