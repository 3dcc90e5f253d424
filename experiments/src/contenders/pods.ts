import type { Point, PointCluster, PointWorkload } from "../scenario/model.ts";
import type { SchedulableNode, SchedulingRequest, WaitingPod } from "./kube-scheduler/port.ts";
import type { Placement, PodMove } from "./port.ts";

/** Default of the kubelet. */
const MAX_PODS = 110;

/** Pods in creation order: by workload as in the scenario, then by replica. */
export function podsOf({ workflow }: Point): WaitingPod[] {
  const { created, workloads } = workflow;
  const inOrder =
    created === undefined
      ? workloads
      : workloads.toSorted((a, b) => created.indexOf(a.name) - created.indexOf(b.name));
  return inOrder.flatMap((workload) =>
    Array.from({ length: workload.replicas }, (_, replica) => podOf(workload, replica)),
  );
}

function podOf({ name, requests, pinnedTo }: PointWorkload, replica: number): WaitingPod {
  return {
    name: `${name}-${replica}`,
    workload: name,
    cpuMillicores: requests.cpuMillicores ?? 0,
    memoryBytes: requests.memoryBytes ?? 0,
    pinnedTo,
  };
}

function nodesOf({ nodes }: PointCluster): SchedulableNode[] {
  return nodes.map((node) => ({ ...node, maxPods: MAX_PODS }));
}

/** @param kept pods that stay; those on removed nodes become pending */
export function requestOf(point: Point, cluster: PointCluster, kept: Placement): SchedulingRequest {
  const there = new Set(cluster.nodes.map(({ name }) => name));
  const pods = podsOf(point);
  const nodeOf = ({ name }: WaitingPod): string | null => {
    const node = kept.get(name);
    return node !== undefined && there.has(node) ? node : null;
  };
  return {
    nodes: nodesOf(cluster),
    pods: pods.filter((pod) => nodeOf(pod) === null),
    placed: pods.flatMap((pod): [WaitingPod, string][] => {
      const node = nodeOf(pod);
      return node === null ? [] : [[pod, node]];
    }),
  };
}

export function staying({ placed }: SchedulingRequest): Placement {
  return new Map(placed.map(([{ name }, node]) => [name, node]));
}

export function together(request: SchedulingRequest, placed: Placement): Placement {
  return new Map([...staying(request), ...placed]);
}

/** Replicas are interchangeable: if the target has any replica on a node, one there stays. */
export function movesBetween(point: Point, from: Placement, to: Placement): PodMove[] {
  const moves: PodMove[] = [];
  for (const replicas of Map.groupBy(podsOf(point), ({ workload }) => workload).values()) {
    const targets = replicas.map(({ name }) => to.get(name)!);
    const leaving = replicas.filter(({ name }) => {
      const at = targets.indexOf(from.get(name) ?? "");
      if (at >= 0) targets.splice(at, 1);
      return at < 0 && from.has(name);
    });
    for (const [index, { name }] of leaving.entries())
      moves.push({ pod: name, from: from.get(name)!, to: targets[index]! });
  }
  return moves;
}
