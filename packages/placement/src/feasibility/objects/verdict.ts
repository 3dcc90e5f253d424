export interface Rejection {
  /** The first plugin that rejects, in kube-scheduler's order. */
  readonly plugin: FilterPlugin;
  /** kube-scheduler's message; lists all missing resources. */
  readonly message: string;
}

/** In kube-scheduler's order. `Unsupported` is ours: the pod uses a feature that the model lacks. */
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
