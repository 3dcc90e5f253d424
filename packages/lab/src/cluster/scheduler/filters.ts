import { matchesLabels, nodeView, podView } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import { podSpec } from "../objects.ts";

interface Amounts {
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  readonly pods: number;
}

/** A node with what the pods bound to it request. */
export interface NodeState {
  readonly node: KubernetesObject;
  readonly name: string;
  readonly allocatable: Amounts;
  readonly requested: Amounts;
}

/** Nodes with their bound pods; finished pods use nothing, those being deleted still do. */
export function nodeStates(
  nodes: readonly KubernetesObject[],
  pods: readonly KubernetesObject[],
): NodeState[] {
  const running = pods.map(podView).filter(({ finished }) => !finished);
  return nodes.map((node) => {
    const { name, allocatableCpuMillicores, allocatableMemoryBytes } = nodeView(node);
    const requested = { cpuMillicores: 0, memoryBytes: 0, pods: 0 };
    for (const pod of running) {
      if (pod.node !== name) continue;
      requested.cpuMillicores += pod.requestsCpuMillicores;
      requested.memoryBytes += pod.requestsMemoryBytes;
      requested.pods++;
    }
    const { pods } = looseFields<Record<"pods", unknown>>(
      looseFields<Record<"allocatable", unknown>>(node.status).allocatable,
    );
    return {
      node,
      name,
      allocatable: {
        cpuMillicores: allocatableCpuMillicores ?? 0,
        memoryBytes: allocatableMemoryBytes ?? 0,
        pods: Number(pods ?? 0),
      },
      requested,
    };
  });
}

/** Why the pod can't run on the node, in kube-scheduler's words; null when it can. */
export function unfitReason(
  pod: KubernetesObject,
  { node, allocatable, requested }: NodeState,
): string | null {
  const { ready, cordoned } = nodeView(node);
  if (!ready) return "node(s) had untolerated taint {node.kubernetes.io/not-ready: }";
  if (cordoned) return "node(s) were unschedulable";
  if (!matchesLabels(podSpec(pod).nodeSelector ?? {}, node.metadata.labels))
    return "node(s) didn't match Pod's node affinity/selector";
  const { requestsCpuMillicores, requestsMemoryBytes } = podView(pod);
  if (requested.pods + 1 > allocatable.pods) return "Too many pods";
  if (requested.cpuMillicores + requestsCpuMillicores > allocatable.cpuMillicores) return "Insufficient cpu";
  if (requested.memoryBytes + requestsMemoryBytes > allocatable.memoryBytes) return "Insufficient memory";
  return null;
}

const MIN_FEASIBLE_NODES = 100;

/**
 * How many feasible nodes are looked for before scoring: kube-scheduler's numFeasibleNodesToFind with the
 * default percentage.
 */
export function feasibleNodesToFind(nodeCount: number): number {
  if (nodeCount < MIN_FEASIBLE_NODES) return nodeCount;
  const percentage = Math.max(5, 50 - Math.floor(nodeCount / 125));
  return Math.max(MIN_FEASIBLE_NODES, Math.floor((nodeCount * percentage) / 100));
}

/**
 * kube-scheduler's NodeResourcesFit with LeastAllocated: the mean free share of CPU and memory after placing,
 * 0..100.
 */
export function leastAllocatedScore(pod: KubernetesObject, { allocatable, requested }: NodeState): number {
  const { requestsCpuMillicores, requestsMemoryBytes } = podView(pod);
  const free = (total: number, used: number): number =>
    total <= 0 || used > total ? 0 : Math.floor(((total - used) * 100) / total);
  const cpu = free(allocatable.cpuMillicores, requested.cpuMillicores + requestsCpuMillicores);
  const memory = free(allocatable.memoryBytes, requested.memoryBytes + requestsMemoryBytes);
  return Math.floor((cpu + memory) / 2);
}

/** "0/8 nodes are available: 3 Insufficient cpu, 5 node(s) were unschedulable." */
export function unschedulableMessage(nodeCount: number, reasons: ReadonlyMap<string, string>): string {
  const counts = new Map<string, number>();
  for (const reason of reasons.values()) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const parts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodeCount} nodes are available: ${parts.join(", ") || "no nodes are registered"}.`;
}
