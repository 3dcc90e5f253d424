// Who the ends of a row of Istio's metrics are. Their labels name workloads of any cluster of the mesh.
import type { Series } from "@isochrone/telemetry";
import { OUTSIDE_NAMESPACE, OUTSIDE_UNKNOWN, outsideNameOf } from "@isochrone/telemetry/outside";
import type { ChannelKey, Reporter } from "../channel-key.ts";
import type { ClusterFacts } from "../speakers/authority.ts";
import { textOf, type Labels } from "../text.ts";
import { clusterName, isOfOurNode, type OwnCluster } from "./own-cluster.ts";
import { UNUSED_SINKS, type Sink } from "./sink.ts";

/** Istio writes this where it can't tell who it was. */
const UNKNOWN = "unknown";

type EndLabels = Labels<
  | "source_workload"
  | "source_workload_namespace"
  | "source_cluster"
  | "destination_workload"
  | "destination_workload_namespace"
  | "destination_cluster"
>;

interface NamedEnd {
  readonly namespace: string;
  readonly workload: string;
}

/** The cluster of the end that doesn't report; null: this one, or it isn't told. */
type FarCluster = { readonly elsewhere: string | null } | "near_is_elsewhere";

/**
 * Tells which cluster the far end of a call is in. The proxy that reports stands in this cluster, or its page
 * isn't one of this cluster.
 */
export function farClusterOf(
  series: Series,
  reporter: Reporter,
  clusters: OwnCluster,
  facts: ClusterFacts,
): FarCluster {
  const labels: EndLabels = series.attributes;
  const source = clusterName(labels.source_cluster);
  // Left out where it is the source's.
  const target = (labels.destination_cluster ?? "") === "" ? source : clusterName(labels.destination_cluster);
  const [near, far] = reporter === "source" ? [source, target] : [target, source];
  if (near !== null) {
    const isOfSource = reporter === "source";
    const namespace = isOfSource ? labels.source_workload_namespace : labels.destination_workload_namespace;
    const isHere = isOfOurNode(series, facts);
    const isNew = series.state === undefined;
    if (clusters.note("istio", near, textOf(namespace) ?? "", isHere, isNew)) return "near_is_elsewhere";
  }
  const isElsewhere = far !== null && far !== near && clusters.isOther("istio", far);
  return { elsewhere: isElsewhere ? far : null };
}

/**
 * The channel of a call. An end in another cluster is outside, by that cluster's name, and so is an end that
 * isn't known. Or what the row flows into: no end is known here.
 */
export function callOf(
  series: Series,
  reporter: Reporter,
  clusters: OwnCluster,
  facts: ClusterFacts,
): ChannelKey | Sink {
  const far = farClusterOf(series, reporter, clusters, facts);
  if (far === "near_is_elsewhere") return UNUSED_SINKS.other_cluster;
  const labels: EndLabels = series.attributes;
  const outside = {
    namespace: OUTSIDE_NAMESPACE,
    workload: far.elsewhere === null ? OUTSIDE_UNKNOWN : outsideNameOf(far.elsewhere),
  };
  const isFar = (side: "source" | "target"): boolean =>
    far.elsewhere !== null && (side === "source") !== (reporter === "source");
  const source = isFar("source") ? null : endOf(labels.source_workload, labels.source_workload_namespace);
  const target = isFar("target")
    ? null
    : endOf(labels.destination_workload, labels.destination_workload_namespace);
  return source === null && target === null
    ? UNUSED_SINKS.unattributed
    : channelOf(source ?? outside, target ?? outside);
}

function channelOf(source: NamedEnd, target: NamedEnd): ChannelKey {
  return {
    sourceNamespace: source.namespace,
    source: source.workload,
    targetNamespace: target.namespace,
    target: target.workload,
  };
}

function endOf(workloadLabel: unknown, namespaceLabel: unknown): NamedEnd | null {
  const [workload, namespace] = [nameOf(workloadLabel), nameOf(namespaceLabel)];
  return workload === null || namespace === null ? null : { namespace, workload };
}

function nameOf(label: unknown): string | null {
  const name = typeof label === "string" ? textOf(label) : null;
  return name === UNKNOWN ? null : name;
}
