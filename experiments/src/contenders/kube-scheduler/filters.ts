// The filters of the default profile that pods and nodes of scenarios meet: NodeResourcesFit and
// NodeAffinity. PodTopologySpread only scores by default; taints, ports and volumes are none.
import type { FillingCluster, NodeAccount } from "./filling-cluster.ts";
import type { WaitingPod } from "./port.ts";

/** Why the node is none for the pod, in kube-scheduler's words; null: it is one. */
function rejection(pod: WaitingPod, account: NodeAccount): string | null {
  const { node, pods, cpuMillicores, memoryBytes } = account;
  if (pod.pinnedTo !== null && pod.pinnedTo !== node.name)
    return "node(s) didn't match Pod's node affinity/selector";
  if (pods + 1 > node.maxPods) return "Too many pods";
  // What isn't requested is not looked at, also on a node that has less than nothing left.
  if (pod.cpuMillicores > 0 && pod.cpuMillicores > node.cpuMillicores - cpuMillicores)
    return "Insufficient cpu";
  if (pod.memoryBytes > 0 && pod.memoryBytes > node.memoryBytes - memoryBytes) return "Insufficient memory";
  return null;
}

export function feasibleNodes(pod: WaitingPod, { nodes }: FillingCluster): NodeAccount[] {
  return nodes.filter((account) => rejection(pod, account) === null);
}

/** As kube-scheduler says it: "0/3 nodes are available: 2 Insufficient cpu, 1 Too many pods." */
export function unschedulable(pod: WaitingPod, { nodes }: FillingCluster): string {
  const counts = new Map<string, number>();
  for (const account of nodes) {
    const reason = rejection(pod, account);
    if (reason !== null) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const reasons = [...counts].map(([reason, count]) => `${count} ${reason}`);
  return `0/${nodes.length} nodes are available: ${reasons.join(", ")}.`;
}
