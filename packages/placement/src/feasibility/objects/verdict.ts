/** Why kube-scheduler would not put the pod there. */
export interface Rejection {
  /** The first plugin that objects, in kube-scheduler's order. */
  readonly plugin: FilterPlugin;
  /** In kube-scheduler's words; of several resources that lack, all. */
  readonly message: string;
}

/**
 * In the order in which kube-scheduler asks them. `Unsupported` is ours: the pod uses what isn't modelled, so
 * nobody says yes.
 */
export const FILTER_PLUGINS = [
  "Unsupported",
  "NodeUnschedulable",
  "NodeName",
  "TaintToleration",
  "NodeAffinity",
  "NodePorts",
  "NodeResourcesFit",
  "VolumeRestrictions",
  "NodeVolumeLimits",
  "VolumeBinding",
  "VolumeZone",
  "PodTopologySpread",
  "InterPodAffinity",
] as const;
export type FilterPlugin = (typeof FILTER_PLUGINS)[number];
