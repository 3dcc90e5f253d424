// Label names of cAdvisor's series in common scrape configurations. Published series use cAdvisor's own
// names.
import { RUNTIME_LABELS } from "@isochrone/telemetry";

export const PRESET_NAMES = ["kube-prometheus", "kubernetes-sd", "legacy"] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

/** Labels of usage series; the first nonempty one counts. */
export interface Preset {
  readonly namespace: readonly string[];
  readonly pod: readonly string[];
  readonly container: readonly string[];
  readonly node: readonly string[];
  /** Matchers that exclude other pages with the same metrics, which would count twice. */
  readonly usageMatchers: readonly string[];
  /** Matchers of the kubelets' resource page; null if it can't be distinguished. */
  readonly resourceMatchers: readonly string[] | null;
}

// Without honor_labels the pod's labels are renamed to exported_*, and the others are the kubelet's. The
// aggregator reads the runtime's labels of a standalone cAdvisor.
const CURRENT = {
  namespace: ["exported_namespace", "namespace"],
  pod: [RUNTIME_LABELS.pod, "exported_pod", "pod"],
  container: ["exported_container", "container"],
};

export const PRESETS: Readonly<Record<PresetName, Preset>> = {
  // ServiceMonitor of kube-prometheus and its Helm chart.
  "kube-prometheus": {
    ...CURRENT,
    node: ["node"],
    usageMatchers: ['job="kubelet"', 'metrics_path="/metrics/cadvisor"'],
    resourceMatchers: ['job="kubelet"', 'metrics_path="/metrics/resource"'],
  },
  // Prometheus' example configuration and Istio's addon: targets of role node, whose instance is the node's
  // name.
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
 * node_exporter's series with any preset. The node label depends on relabelling (`nodename` in Prometheus'
 * chart, `instance` in kube-prometheus) and is missing by default.
 */
export const NODE_EXPORTER: Preset = {
  namespace: [],
  pod: [],
  container: [],
  node: ["node", "nodename", "kubernetes_node", "instance"],
  usageMatchers: [],
  resourceMatchers: null,
};
