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
export type FarCluster = { readonly elsewhere: string | null } | "near_is_elsewhere";

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
  const named = {
    source: endOf(labels.source_workload, labels.source_workload_namespace),
    target: endOf(labels.destination_workload, labels.destination_workload_namespace),
  };
  const farSide = reporter === "source" ? "target" : "source";
  const outside = far.elsewhere === null ? OUTSIDE_UNKNOWN : outsideNameOf(far.elsewhere);
  const ends = far.elsewhere === null ? named : { ...named, [farSide]: null };
  if (ends.source === null && ends.target === null) return UNUSED_SINKS.unattributed;
  return {
    sourceNamespace: ends.source?.namespace ?? OUTSIDE_NAMESPACE,
    source: ends.source?.workload ?? outside,
    targetNamespace: ends.target?.namespace ?? OUTSIDE_NAMESPACE,
    target: ends.target?.workload ?? outside,
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
