// The score plugins of kube-scheduler 1.35's default profile, to the number: 0 to 100 each, divisions of
// whole numbers as in Go. InterPodAffinity, NodeAffinity's preferences and ImageLocality find nothing in
// scenarios and give 0 to all; TaintToleration gives 100 to all. Source: k8s.io/kubernetes v1.35.8,
// pkg/scheduler/framework/plugins.
import { nonZeroCpu, nonZeroMemory } from "./filling-cluster.ts";
import type { FillingCluster, NodeAccount } from "./filling-cluster.ts";
import type { WaitingPod } from "./port.ts";

/** Plugins that tell nodes apart, with their default weights. */
export const DEFAULT_WEIGHTS = {
  NodeResourcesFit: 1,
  NodeResourcesBalancedAllocation: 1,
  PodTopologySpread: 2,
} as const;
export type ScorePlugin = keyof typeof DEFAULT_WEIGHTS;

/** By plugin, then by feasible node. */
type PluginScores = Readonly<Record<ScorePlugin, Float64Array>>;

const MAX_SCORE = 100;

/** @param feasible nodes of the cluster */
export function pluginScores(
  pod: WaitingPod,
  feasible: readonly NodeAccount[],
  cluster: FillingCluster,
): PluginScores {
  return {
    NodeResourcesFit: Float64Array.from(feasible, (account) => leastAllocated(pod, account)),
    NodeResourcesBalancedAllocation: Float64Array.from(feasible, (account) =>
      balancedAllocation(pod, account),
    ),
    PodTopologySpread: topologySpread(pod, feasible, cluster),
  };
}

/** LeastAllocated [1, noderesources/least_allocated.go]: the mean over CPU and memory of what stays free. */
function leastAllocated(pod: WaitingPod, account: NodeAccount): number {
  const { node, nonZeroCpuMillicores, nonZeroMemoryBytes } = account;
  let sum = 0;
  let weights = 0;
  for (const [requested, capacity] of [
    [nonZeroCpuMillicores + nonZeroCpu(pod), node.cpuMillicores],
    [nonZeroMemoryBytes + nonZeroMemory(pod), node.memoryBytes],
  ] as const) {
    if (capacity === 0) continue;
    weights++;
    if (requested <= capacity) sum += Math.trunc(((capacity - requested) * MAX_SCORE) / capacity);
  }
  return weights === 0 ? 0 : Math.trunc(sum / weights);
}

/**
 * [1, noderesources/balanced_allocation.go]: how equally CPU and memory are used, by requests alone. Pods
 * without any aren't scored.
 */
function balancedAllocation(pod: WaitingPod, { node, cpuMillicores, memoryBytes }: NodeAccount): number {
  if (pod.cpuMillicores === 0 && pod.memoryBytes === 0) return 0;
  // With one resource alone there is nothing to be out of balance with.
  if (node.cpuMillicores === 0 || node.memoryBytes === 0) return MAX_SCORE;
  const cpu = Math.min(1, (cpuMillicores + pod.cpuMillicores) / node.cpuMillicores);
  const memory = Math.min(1, (memoryBytes + pod.memoryBytes) / node.memoryBytes);
  return Math.trunc((1 - Math.abs((cpu - memory) / 2)) * MAX_SCORE);
}

/**
 * System defaults [1, podtopologyspread/plugin.go]: both ScheduleAnyway, for pods that a Service or
 * ReplicaSet selects.
 */
const HOSTNAME_MAX_SKEW = 3;
const ZONE_MAX_SKEW = 5;

/**
 * [1, podtopologyspread/scoring.go]: replicas on the node and in the zone, the larger a topology the heavier;
 * fewer are better.
 */
function topologySpread(
  pod: WaitingPod,
  feasible: readonly NodeAccount[],
  { nodes }: FillingCluster,
): Float64Array {
  // Zones of feasible nodes; those without the label are one of their own.
  const inZone = new Map<string, number>(feasible.map(({ node }) => [node.zone, 0]));
  for (const { node, replicas } of nodes) {
    // Nodes that the pod's own selector leaves out don't count.
    if (pod.pinnedTo !== null && pod.pinnedTo !== node.name) continue;
    const count = inZone.get(node.zone);
    if (count !== undefined) inZone.set(node.zone, count + (replicas.get(pod.workload) ?? 0));
  }
  const hostWeight = Math.log(feasible.length + 2);
  const zoneWeight = Math.log(inZone.size + 2);
  const raw = Float64Array.from(feasible, ({ node, replicas }) => {
    let score = (replicas.get(pod.workload) ?? 0) * hostWeight + (HOSTNAME_MAX_SKEW - 1);
    if (node.zone !== "") score += inZone.get(node.zone)! * zoneWeight + (ZONE_MAX_SKEW - 1);
    return Math.round(score);
  });
  let least = Infinity;
  let most = 0;
  for (const score of raw) {
    least = Math.min(least, score);
    most = Math.max(most, score);
  }
  return raw.map((score) => Math.trunc((MAX_SCORE * (most + least - score)) / most));
}
