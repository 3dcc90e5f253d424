// NodeResourcesFit and NodeResourcesBalancedAllocation, 0 to 100, with Go's integer division. Source:
// k8s.io/kubernetes v1.35.8, pkg/scheduler/framework/plugins/noderesources.
import type { NodeState } from "../objects/node-state.ts";
import type { SchedulingPod } from "../objects/scheduling-pod.ts";

export const MAX_SCORE = 100;

const RESOURCES = ["cpu", "memory"] as const;

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

export function balancedAllocation({ requests }: SchedulingPod, node: NodeState): number {
  // A pod without requests isn't scored.
  if (RESOURCES.every((resource) => (requests.get(resource) ?? 0) === 0)) return 0;
  const shares: number[] = [];
  for (const resource of RESOURCES) {
    const capacity = node.allocatable.get(resource) ?? 0;
    if (capacity === 0) continue;
    shares.push(Math.min(1, (node.used(resource) + (requests.get(resource) ?? 0)) / capacity));
  }
  const [cpu, memory] = shares;
  // A single resource is always balanced.
  if (cpu === undefined || memory === undefined) return MAX_SCORE;
  return Math.trunc((1 - Math.abs((cpu - memory) / 2)) * MAX_SCORE);
}
