// NodeResourcesFit and NodeResourcesBalancedAllocation of kube-scheduler 1.35's default profile: 0 to 100,
// with Go's divisions of whole numbers. Source: k8s.io/kubernetes v1.35.8,
// pkg/scheduler/framework/plugins/noderesources.
import type { NodeState } from "../objects/node-state.ts";
import type { SchedulingPod } from "../objects/scheduling-pod.ts";

export const MAX_SCORE = 100;

const RESOURCES = ["cpu", "memory"] as const;

/** least_allocated.go: the mean over CPU and memory of what stays free. */
export function leastAllocated(pod: SchedulingPod, node: NodeState): number {
  let sum = 0;
  let weights = 0;
  for (const resource of RESOURCES) {
    const capacity = node.allocatable.get(resource) ?? 0;
    if (capacity === 0) continue;
    weights++;
    let requested = pod.scoredRequests.get(resource) ?? 0;
    for (const { scoredRequests } of node.pods.values()) requested += scoredRequests.get(resource) ?? 0;
    if (requested <= capacity) sum += Math.trunc(((capacity - requested) * MAX_SCORE) / capacity);
  }
  return weights === 0 ? 0 : Math.trunc(sum / weights);
}

/** balanced_allocation.go: how equally CPU and memory are used, by requests alone. */
export function balancedAllocation({ requests }: SchedulingPod, node: NodeState): number {
  // A pod that requests neither isn't scored.
  if (RESOURCES.every((resource) => (requests.get(resource) ?? 0) === 0)) return 0;
  const shares: number[] = [];
  for (const resource of RESOURCES) {
    const capacity = node.allocatable.get(resource) ?? 0;
    if (capacity === 0) continue;
    shares.push(Math.min(1, (node.used(resource) + (requests.get(resource) ?? 0)) / capacity));
  }
  const [cpu, memory] = shares;
  // With one resource alone there is nothing to be out of balance with.
  if (cpu === undefined || memory === undefined) return MAX_SCORE;
  return Math.trunc((1 - Math.abs((cpu - memory) / 2)) * MAX_SCORE);
}
