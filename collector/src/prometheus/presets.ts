// How scrape configurations in wide use name what cAdvisor reports. Series are published with cAdvisor's own
// label names.
import { RUNTIME_LABELS } from "@isochrone/telemetry";

export const PRESET_NAMES = ["kube-prometheus", "kubernetes-sd", "legacy"] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

/** Labels of usage series, the first that is there and not empty counts. */
export interface Preset {
  readonly namespace: readonly string[];
  readonly pod: readonly string[];
  readonly container: readonly string[];
  readonly node: readonly string[];
  /**
   * Matchers that tell kubelets' cAdvisor pages from others with the same metrics, which would count twice.
   */
  readonly usageMatchers: readonly string[];
  /** Matchers of the kubelets' other page with the same metrics; null where nothing tells the pages apart. */
  readonly resourceMatchers: readonly string[] | null;
}

// Where a scrape does not honour labels, the pod's own ones are renamed and those without the prefix are the
// kubelet's. Of a standalone cAdvisor's series the aggregator reads the runtime's labels.
const CURRENT = {
  namespace: ["exported_namespace", "namespace"],
  pod: [RUNTIME_LABELS.pod, "exported_pod", "pod"],
  container: ["exported_container", "container"],
};

export const PRESETS: Readonly<Record<PresetName, Preset>> = {
  // The ServiceMonitor of kube-prometheus and its Helm chart.
  "kube-prometheus": {
    ...CURRENT,
    node: ["node"],
    usageMatchers: ['job="kubelet"', 'metrics_path="/metrics/cadvisor"'],
    resourceMatchers: ['job="kubelet"', 'metrics_path="/metrics/resource"'],
  },
  // Prometheus' own example configuration, and Istio's addon: targets of the role node, whose instance is the
  // node's name.
  "kubernetes-sd": {
    ...CURRENT,
    node: ["node", "kubernetes_io_hostname", "instance"],
    usageMatchers: [],
    resourceMatchers: null,
  },
  // cAdvisor before Kubernetes 1.16.
  legacy: {
    namespace: ["namespace"],
    pod: [RUNTIME_LABELS.pod, "pod_name"],
    container: ["container_name"],
    node: ["node", "kubernetes_io_hostname", "instance"],
    usageMatchers: [],
    resourceMatchers: null,
  },
};

/**
 * Of node_exporter, whichever the preset. Series name their node as the scrape's relabelling does (`nodename`
 * in the comments of Prometheus' chart, `instance` in kube-prometheus): it does not, unless told to.
 */
export const NODE_EXPORTER: Preset = {
  namespace: [],
  pod: [],
  container: [],
  node: ["node", "nodename", "kubernetes_node", "instance"],
  usageMatchers: [],
  resourceMatchers: null,
};
