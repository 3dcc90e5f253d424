import { list } from "@isochrone/runtime";
import { OBJECT, SERVED } from "./discovery/trusted.ts";

/** Settings on who may report about others; they apply in every mode. */
export const trustFields = {
  waypointServes: list({
    default: [],
    pattern: SERVED,
    patternRule: "must hold only namespace=namespace, the second of them * for any",
    description:
      "Namespaces that waypoints of another namespace tell of, each as waypoints-namespace=served-namespace; they always tell of their own.",
  }),
  ztunnelDaemonSets: list({
    default: ["istio-system/ztunnel"],
    pattern: OBJECT,
    patternRule: "must hold only namespace/name",
    description:
      "DaemonSets whose pods are ztunnels, each as namespace/name. They tell of the workloads on their node.",
  }),
  hubbleDaemonSets: list({
    default: ["kube-system/cilium"],
    pattern: OBJECT,
    patternRule: "must hold only namespace/name",
    description:
      "DaemonSets whose pods are Cilium's agents, each as namespace/name: Hubble's metrics are theirs alone.",
  }),
  nodeExporterDaemonSets: list({
    default: [],
    pattern: OBJECT,
    patternRule: "must hold only namespace/name",
    description:
      "DaemonSets whose pods are node_exporter, each as namespace/name: what nodes have available is theirs to tell, where no kubelet does. None: nobody is asked.",
  }),
} as const;
