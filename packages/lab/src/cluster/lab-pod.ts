import { podView, workloadOf } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { KubernetesObject, PodStatus } from "@isochrone/kubernetes";
import { PUBLISHED } from "./names.ts";
import type { PodNetwork } from "./ports.ts";

export interface LabPod {
  readonly name: string;
  readonly namespace: string;
  readonly workload: string;
  readonly node: string | null;
  readonly phase: string;
  readonly ready: boolean;
  readonly deleting: boolean;
  readonly restarts: number;
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
    // A real cluster doesn't route the pod's own address.
    metricsUrl:
      node === null || port === undefined ? null : `http://${network.nodeAddress(node)}:${port}${path}`,
  };
}
