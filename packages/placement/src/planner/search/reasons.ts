import type { PlanState } from "./plan-state.ts";

export interface UnplacedPod {
  readonly pod: number;
  /** In kube-scheduler's style: `0/3 nodes are available: 2 insufficient cpu, 1 not allowed.` */
  readonly reason: string;
}

export function unplacedReason(state: PlanState, pod: number): string {
  const counts = new Map<string, number>();
  const { nodes } = state.problem;
  let free = 0;
  for (const node of nodes.keys()) {
    const obstacle = obstacleAt(state, pod, node);
    if (obstacle === null) free++;
    else counts.set(obstacle, (counts.get(obstacle) ?? 0) + 1);
  }
  const listed = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const words = listed.map(([obstacle, count]) => `${count} ${obstacle}`);
  if (free > 0) words.push(`${free} only at the cost of another constraint`);
  return `0/${nodes.length} nodes are available: ${words.join(", ") || "there is no node"}.`;
}

function obstacleAt(state: PlanState, pod: number, node: number): string | null {
  const { pods, resources } = state.problem;
  if (pods[pod]!.allowed?.[node] === 0) return "not allowed";
  const short = state.shortage(pod, node);
  if (short >= 0) return `insufficient ${resources[short]}`;
  const rule = state.rulesOf(pod).find((one) => !one.admits(pod, node, false));
  return rule === undefined ? null : `against ${rule.name}`;
}
