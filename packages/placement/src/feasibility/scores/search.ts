import type { Rejection } from "../objects/verdict.ts";

const MIN_FEASIBLE_NODES = 100;

/** kube-scheduler's numFeasibleNodesToFind. */
export function feasibleNodesToFind(nodeCount: number): number {
  if (nodeCount < MIN_FEASIBLE_NODES) return nodeCount;
  const percentage = Math.max(5, 50 - Math.floor(nodeCount / 125));
  return Math.max(MIN_FEASIBLE_NODES, Math.floor((nodeCount * percentage) / 100));
}

export function reasonsOf({ plugin, message }: Rejection): string[] {
  return plugin === "NodeResourcesFit" ? message.split(", ") : [message];
}

/**
 * As kube-scheduler's FitError: "0/8 nodes are available: 3 Insufficient cpu, 5 node(s) were unschedulable."
 * @param reasons of all nodes
 */
export function unschedulableMessage(nodeCount: number, reasons: Iterable<string>): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const parts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodeCount} nodes are available: ${parts.join(", ") || "no nodes are registered"}.`;
}
