// What a pod uses of CPU and memory, and what the pods that were sent out a moment ago will use on each node.
import type { ClusterGraph } from "@isochrone/topology";
import type { ColumnPool } from "../scoring/columns.ts";
import type { PlacementProblem } from "../scoring/problem.ts";

export type Amount = "cpuMillicores" | "memoryBytes";

/** A resource of which it is known how much the pod takes. */
interface Use {
  /** Above 0 and finite. */
  readonly amount: number;
  /** True when the pod's request stands in for its use. */
  readonly requested: boolean;
}

/**
 * A pod that uses nothing (or isn't measured) gives no measure of what a node has: its request stands in, or
 * it is null.
 */
export function useOf(problem: PlacementProblem, amount: Amount): Use | null {
  const used = measuredUse(problem, amount);
  const requested = problem.pod.requests?.[amount] ?? null;
  if (isAmount(used)) return { amount: used, requested: false };
  return isAmount(requested) ? { amount: requested, requested: true } : null;
}

/** Of the pod's workload; null while it isn't known. */
export function measuredUse({ pod, workflow }: PlacementProblem, amount: Amount): number | null {
  const workload = pod.workload === null ? undefined : workflow.graph?.workload(pod.workload);
  return workload?.[amount] ?? null;
}

/** By node id, what is available when the decisions of a moment ago are carried out. */
export function availableLater(
  problem: PlacementProblem,
  graph: ClusterGraph,
  amount: Amount,
  pool: ColumnPool,
): Float64Array {
  const { assumedUse } = problem;
  const available = availableNow(problem, graph, amount, pool);
  if (assumedUse === undefined || assumedUse.size === 0) return available;
  const left = available === graph.available(amount) ? pool.copyOf(available) : available;
  for (const [node, use] of assumedUse) {
    const id = graph.idOf(node);
    if (id >= 0) left[id]! -= use[amount];
  }
  return left;
}

/** By node id, what is available with what is released; the graph's own column when nothing is. */
export function availableNow(
  { released }: PlacementProblem,
  graph: ClusterGraph,
  amount: Amount,
  pool: ColumnPool,
): Float64Array {
  const available = graph.available(amount);
  if (released === undefined || released.size === 0) return available;
  const more = pool.copyOf(available);
  for (const [node, use] of released) {
    const id = graph.idOf(node);
    if (id >= 0) more[id]! += use[amount];
  }
  return more;
}

/** By node id, what the decisions of a moment ago will use; null for nothing. */
export function assumedLoad(
  { assumedUse }: PlacementProblem,
  graph: ClusterGraph,
  amount: Amount,
  pool: ColumnPool,
): Float64Array | null {
  if (assumedUse === undefined || assumedUse.size === 0) return null;
  const load = pool.copyOf(graph.available(amount)).fill(0);
  for (const [node, use] of assumedUse) {
    const id = graph.idOf(node);
    if (id >= 0) load[id]! += use[amount];
  }
  return load;
}

function isAmount(value: number | null): value is number {
  return value !== null && value > 0 && value < Infinity;
}
