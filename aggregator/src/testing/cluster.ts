import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { EMPTY_CLUSTER, type ClusterState, type NodeState } from "../domain/cluster-state.ts";

/** A ready node without labels by default. */
export function nodeState(name: string, more: Partial<NodeState> = {}): NodeState {
  return {
    name,
    zone: null,
    provider: null,
    region: null,
    segment: null,
    ready: true,
    cordoned: false,
    allocatableCpuMillicores: 4000,
    allocatableMemoryBytes: 8e9,
    networkCapacityBitsPerSecond: null,
    ...more,
  };
}

export function clusterState(more: Partial<ClusterState> = {}): ClusterState {
  return { ...EMPTY_CLUSTER, ...more };
}

/** A Node object; `capacity` sets its status. */
export function nodeObject(
  name: string,
  zone: string,
  capacity: Readonly<Record<string, string>> = {},
): KubernetesObject {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "r1" },
    },
    status: {
      capacity: { cpu: "4", memory: "8Gi", ...capacity },
      allocatable: { cpu: "4", memory: "8Gi" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

export function podObject(
  namespace: string,
  name: string,
  node: string,
  more: { readonly labels?: Record<string, string>; readonly ip?: string } = {},
): KubernetesObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name, labels: more.labels ?? {} },
    spec: { nodeName: node, containers: [{ name: "main", image: "none" }] },
    status: { phase: "Running", ...(more.ip === undefined ? {} : { podIP: more.ip }) },
  };
}

export function deploymentObject(
  namespace: string,
  name: string,
  workflow: string,
  annotations: Record<string, string> = {},
): KubernetesObject {
  const labels = { app: name, "isochrone.dev/workflow": workflow };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name, annotations },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  };
}

export async function fill(store: ClusterStore, objects: readonly KubernetesObject[]): Promise<void> {
  for (const object of objects) await store.create(object);
}
