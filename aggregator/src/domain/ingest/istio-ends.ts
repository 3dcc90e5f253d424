// Who the ends of a row of Istio's metrics are. Their labels name workloads of any cluster of the mesh.
import type { AttributeValue, Series } from "@isochrone/telemetry";
import { OUTSIDE_NAMESPACE, outsideNameOf } from "@isochrone/telemetry/outside";
import {
  channelBetween,
  UNKNOWN_OUTSIDE,
  type ChannelEnd,
  type ChannelKey,
  type Reporter,
} from "../channel-key.ts";
import type { ClusterFacts } from "../speakers/authority.ts";
import { knownName, textOf, type Labels } from "../text.ts";
import { isOfOurNode, type OwnCluster } from "./own-cluster.ts";
import { UNUSED_SINKS, type Sink } from "./sink.ts";

type EndLabels = Labels<
  | "source_workload"
  | "source_workload_namespace"
  | "source_cluster"
  | "destination_workload"
  | "destination_workload_namespace"
  | "destination_cluster"
>;

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
  const source = knownName(labels.source_cluster);
  // Left out where it is the source's.
  const target = (labels.destination_cluster ?? "") === "" ? source : knownName(labels.destination_cluster);
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
  const outside =
    far.elsewhere === null
      ? UNKNOWN_OUTSIDE
      : { namespace: OUTSIDE_NAMESPACE, workload: outsideNameOf(far.elsewhere) };
  const isFar = (side: "source" | "target"): boolean =>
    far.elsewhere !== null && (side === "source") !== (reporter === "source");
  const source = isFar("source") ? null : endOf(labels.source_workload, labels.source_workload_namespace);
  const target = isFar("target")
    ? null
    : endOf(labels.destination_workload, labels.destination_workload_namespace);
  return source === null && target === null
    ? UNUSED_SINKS.unattributed
    : channelBetween(source ?? outside, target ?? outside);
}

function endOf(
  workloadLabel: AttributeValue | undefined,
  namespaceLabel: AttributeValue | undefined,
): ChannelEnd | null {
  const [workload, namespace] = [knownName(workloadLabel), knownName(namespaceLabel)];
  return workload === null || namespace === null ? null : { namespace, workload };
}
