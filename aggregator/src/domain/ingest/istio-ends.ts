// Resolves the ends of Istio metrics, whose labels name workloads of any cluster in the mesh.
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

/** Cluster of the end that does not report; null: this cluster or unknown. */
type FarCluster = { readonly elsewhere: string | null } | "near_is_elsewhere";

/** Determines the far end's cluster. The reporting proxy must be in this cluster. */
export function farClusterOf(
  series: Series,
  reporter: Reporter,
  clusters: OwnCluster,
  facts: ClusterFacts,
): FarCluster {
  const labels: EndLabels = series.attributes;
  const source = knownName(labels.source_cluster);
  // The label is absent if it equals the source's.
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

/** Unknown and other-cluster ends are external. Returns a sink if no end is in this cluster. */
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
