// Binds a zone's demand for a Service as the callers' proxies count it: requests, and answers within each
// latency bound.
import {
  ALL_LATENCIES,
  isFailedResponse,
  LATENCY_BOUNDS_MS,
  LATENCY_BUCKETS,
  RESOURCE_ATTRIBUTES,
  type CounterTracks,
  type Increment,
  type Series,
} from "@isochrone/telemetry";
import { latencyFlow, type ChannelKey, type Flow } from "../channel-key.ts";
import { workloadNamed } from "./bind-traffic.ts";
import { IncrementSink } from "./increments.ts";
import { farClusterOf } from "./istio-ends.ts";
import { OwnCluster } from "./own-cluster.ts";
import type { ChannelSideTarget, ChannelTarget, SinkTables } from "./sink-tables.ts";
import { NOT_YOURS, UNUSED_SINKS, type Sink } from "./sink.ts";
import { OPEN_PERMIT, type Permit } from "../speakers/permit.ts";
import { knownName, textOf, type Labels } from "../text.ts";

class DemandSink extends IncrementSink {
  readonly #demand: ChannelTarget;
  readonly #side: ChannelSideTarget;
  readonly #flows: readonly Flow[];

  constructor(demand: ChannelTarget, flows: readonly Flow[], series: Series, tracks: CounterTracks) {
    super(series, tracks);
    this.#demand = demand;
    this.#side = demand.side("source");
    this.#flows = flows;
  }

  get live(): boolean {
    return this.#demand.live;
  }

  protected take(increment: Increment): void {
    for (const flow of this.#flows) this.#side.take(flow, increment);
  }
}

type DemandLabels = Labels<
  | "reporter"
  | "response_code"
  | "grpc_response_status"
  | "le"
  | "source_workload"
  | "source_workload_namespace"
  | "destination_service_name"
  | "destination_service_namespace"
>;

/** Istio names non-Services differently: `PassthroughCluster`, or a host name with dots. */
const SERVICE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

export function bindDemand(
  series: Series,
  demand: SinkTables["demand"],
  tracks: CounterTracks,
  permit: Permit = OPEN_PERMIT,
  clusters: OwnCluster = new OwnCluster(),
): Sink | null {
  const labels: DemandLabels = series.attributes;
  if (series.name !== LATENCY_BUCKETS || labels.reporter !== "source") return null;
  if (series.kind !== "sum") return UNUSED_SINKS.unknown_metric;
  if (isElsewhere(series, permit, clusters)) return UNUSED_SINKS.other_cluster;
  const flows = flowsOf(labels);
  const caller = callerOf(labels);
  const node = textOf(series.resource[RESOURCE_ATTRIBUTES.node]);
  if (flows === null || caller === null || node === null) return UNUSED_SINKS.unattributed;
  const target = openDemand(demand, caller, node, permit);
  return "unused" in target ? target : new DemandSink(target, flows, series, tracks);
}

function isElsewhere(series: Series, { facts }: Permit, clusters: OwnCluster): boolean {
  const far = farClusterOf(series, "source", clusters, facts);
  return far === "near_is_elsewhere" || far.elsewhere !== null;
}

function openDemand(
  demand: SinkTables["demand"],
  caller: ChannelKey,
  node: string,
  permit: Permit,
): ChannelTarget | Sink {
  const { authority, facts } = permit;
  const { name: source } = workloadNamed(permit, caller.sourceNamespace, caller.source, false);
  const isTheirs = authority.speaksForNode(node)
    ? authority.speaksForChannel({ ...caller, source }, "source")
    : "no";
  if (isTheirs === "no") return NOT_YOURS;
  const zone = facts.zoneOf(node);
  if (isTheirs === "unknown" || zone === undefined) return UNUSED_SINKS.unknown_node;
  const key = { ...caller, source: zone ?? "" };
  return demand.open(key, permit.channelRoom(key.sourceNamespace)) ?? UNUSED_SINKS.too_many_channels;
}

function flowsOf(labels: DemandLabels): readonly Flow[] | null {
  const { le, response_code: code = "200", grpc_response_status: grpcStatus = "" } = labels;
  const failed = isFailedResponse(String(code), String(grpcStatus));
  if (le === ALL_LATENCIES) return failed ? ["requests", "errors"] : ["requests"];
  const bound = failed ? undefined : LATENCY_BOUNDS_MS.find((known) => String(known) === le);
  return bound === undefined ? null : [latencyFlow(bound)];
}

/** Caller and called Service; null: one of them is not named. */
function callerOf(labels: DemandLabels): ChannelKey | null {
  const source = knownName(labels.source_workload);
  const sourceNamespace = textOf(labels.source_workload_namespace);
  const target = textOf(labels.destination_service_name);
  const targetNamespace = knownName(labels.destination_service_namespace);
  if (source === null || sourceNamespace === null) return null;
  if (target === null || targetNamespace === null || !SERVICE.test(target)) return null;
  return { sourceNamespace, source, targetNamespace, target };
}
