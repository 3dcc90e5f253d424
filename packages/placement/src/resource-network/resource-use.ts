import type { ClusterGraph } from "@isochrone/topology";
import type { ColumnPool } from "../scoring/columns.ts";
import type { PlacementProblem } from "../scoring/problem.ts";

export type Amount = "cpuMillicores" | "memoryBytes";

interface Use {
  /** Positive and finite. */
  readonly amount: number;
  readonly requested: boolean;
}

/** Returns the measured use. If it is unknown or 0, returns the pod's request, or null. */
export function useOf(problem: PlacementProblem, amount: Amount): Use | null {
  const used = measuredUse(problem, amount);
  const requested = problem.pod.requests?.[amount] ?? null;
  if (isAmount(used)) return { amount: used, requested: false };
  return isAmount(requested) ? { amount: requested, requested: true } : null;
}

export function measuredUse({ pod, workflow }: PlacementProblem, amount: Amount): number | null {
  const workload = pod.workload === null ? undefined : workflow.graph?.workload(pod.workload);
  return workload?.[amount] ?? null;
}

/** Available amount per node id, once recent decisions are carried out. */
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

/** Returns the graph's own column if nothing is released. */
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

/** Use per node id of recent decisions; null: none. */
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
