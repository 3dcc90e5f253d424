import { podView, workloadOf } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { KubernetesObject, PodStatus } from "@isochrone/kubernetes";
import { PUBLISHED } from "./names.ts";
import type { PodNetwork } from "./ports.ts";

/** A pod of the embedded cluster, as a person wants to see it. */
export interface LabPod {
  readonly name: string;
  readonly namespace: string;
  readonly workload: string;
  readonly node: string | null;
  readonly phase: string;
  readonly ready: boolean;
  readonly deleting: boolean;
  readonly restarts: number;
  /** The sidecar's metrics page; null until the pod has run. */
  readonly metricsUrl: string | null;
}

export function labPod(pod: KubernetesObject, network: PodNetwork): LabPod {
  const statuses = (looseFields<PodStatus>(pod.status).containerStatuses ?? []) as {
    restartCount?: number;
  }[];
  const { name, namespace, node, phase, ready, terminating, annotations } = podView(pod);
  const port = annotations[PUBLISHED.scrapePort];
  const path = annotations[PUBLISHED.scrapePath];
  return {
    name,
    namespace,
    workload: workloadOf(pod).name,
    node,
    phase,
    ready,
    deleting: terminating,
    restarts: statuses[0]?.restartCount ?? 0,
    // Not at the pod's own address, which nothing routes in a real cluster.
    metricsUrl:
      node === null || port === undefined ? null : `http://${network.nodeAddress(node)}:${port}${path}`,
  };
}
