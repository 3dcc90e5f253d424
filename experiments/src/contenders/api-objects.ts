// Converts a point to API objects for the model of kube-scheduler's filters and the descheduler's exclusions.
import type { ApiObject } from "@isochrone/placement";
import type { PointWorkload } from "../scenario/model.ts";
import { NAMESPACE } from "./graphs.ts";
import type { SchedulableNode, WaitingPod } from "./kube-scheduler/port.ts";

const HOSTNAME = "kubernetes.io/hostname";
const ZONE = "topology.kubernetes.io/zone";
const REGION = "topology.kubernetes.io/region";
/** Old enough for every age rule: a round stands for the time that rules want pods and workloads to rest. */
const CREATED = "2026-01-01T00:00:00Z";

export function nodeObject(node: SchedulableNode): ApiObject {
  const { name, zone, region, cpuMillicores, memoryBytes, maxPods } = node;
  return {
    metadata: {
      name,
      labels: {
        [HOSTNAME]: name,
        ...(zone === "" ? {} : { [ZONE]: zone }),
        ...(region === "" ? {} : { [REGION]: region }),
      },
    } as ApiObject["metadata"],
    spec: {},
    status: {
      allocatable: { cpu: `${cpuMillicores}m`, memory: String(memoryBytes), pods: String(maxPods) },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

export type PodObject = ApiObject & {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>>;
};

/** @param uid changes with each eviction. @param node null: pending */
export function podObject(pod: WaitingPod, uid: string, node: string | null): PodObject {
  const { name, workload, cpuMillicores, memoryBytes, pinnedTo } = pod;
  const requests = {
    ...(cpuMillicores === 0 ? {} : { cpu: `${cpuMillicores}m` }),
    ...(memoryBytes === 0 ? {} : { memory: String(memoryBytes) }),
  };
  const metadata = {
    name,
    namespace: NAMESPACE,
    uid,
    labels: { app: workload },
    creationTimestamp: CREATED,
    ownerReferences: [
      { apiVersion: "apps/v1", kind: "ReplicaSet", name: workload, uid: workload, controller: true },
    ],
  };
  return {
    metadata,
    spec: {
      containers: [{ name: "main", resources: { requests } }],
      ...(pinnedTo === null ? {} : { nodeSelector: { [HOSTNAME]: pinnedTo } }),
      ...(node === null ? {} : { nodeName: node }),
    },
    status: node === null ? {} : { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  };
}

export function serviceObject(workload: string): ApiObject {
  return { metadata: { name: workload, namespace: NAMESPACE }, spec: { selector: { app: workload } } };
}

export function deploymentObject({ name, replicas }: PointWorkload, ready: number): PodObject {
  const metadata = { name, namespace: NAMESPACE, uid: name, labels: {}, creationTimestamp: CREATED };
  return {
    metadata,
    spec: { replicas },
    status: { replicas, readyReplicas: ready, updatedReplicas: replicas },
  };
}
