import type { Unused } from "../domain/ingest/sink.ts";

/** What to do about points that no graph is drawn from: doctor and page show it. */
export const UNUSED_REMEDIES: Readonly<Record<Unused, string>> = {
  unattributed:
    "Neither end of a call, or no pod or node, is named: give the source the labels that docs/traffic-sources.md lists.",
  other_cluster:
    "They are of another cluster. If one of its names is this cluster's, add it to aggregator.clusterNames; else ask for this cluster's series alone (collector.prometheusMatchers).",
  unknown_pod:
    "No pod of the cluster has the name or address: list the ranges of pods, Services and nodes in the chart's value outside, and leave out series of other clusters.",
  unknown_node:
    "The cluster has no such node: the label of the node must have the name of its Node object, not an address.",
  sampling_unset: "Give the agent's rows their sampling factor (docs/traffic-sources.md).",
  too_many_links: "There is no room for more links: probe fewer peers, or by fewer methods.",
  too_many_channels: "There is no room for more channels: see which source names so many workloads.",
  too_many_pods: "There is no room for more pods: leave out series of other clusters.",
  unknown_metric: "Nothing reads these metrics, or not as this type: a sender need not send them.",
};
