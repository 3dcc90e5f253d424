import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { PlanNode, PlanPod, PlanUse } from "../../planner/objective/plan-problem.ts";

type NodeName = Pick<PlanNode, "name">;

const CPU = "cpu";

/**
 * Undefined if no node's use is known. A pod counts with its workload's mean use, or its request.
 * @param nodes of a model: immutable
 */
export function measuredUse(
  nodes: readonly NodeName[],
  pods: readonly PlanPod[],
  resources: readonly string[],
  { cluster, workflow }: { readonly cluster: ClusterGraph; readonly workflow: WorkflowGraph },
): PlanUse | undefined {
  const known = useOfNodes(nodes, cluster);
  if (known === null) return undefined;
  const { capacity } = known;
  const cpu = resources.indexOf(CPU);
  const uses = Float64Array.from(pods, ({ workload, demand }) => {
    const measured = workload === null ? null : (workflow.workload(workload)?.cpuMillicores ?? null);
    return measured ?? demand[cpu] ?? 0;
  });
  const others = pods.some(({ current }) => current >= 0) ? known.others.slice() : known.others;
  for (const [pod, { current }] of pods.entries())
    if (current >= 0) others[current] = Math.max(0, others[current]! - uses[pod]!);
  return { capacity, others, pods: uses };
}

type UseOfNodes = Pick<PlanUse, "capacity" | "others">;

/**
 * Caches the last nodes of each graph, because pods are planned one after another. Null: no node is measured.
 */
const KNOWN = new WeakMap<
  ClusterGraph,
  { readonly nodes: readonly NodeName[]; readonly use: UseOfNodes | null }
>();

function useOfNodes(nodes: readonly NodeName[], cluster: ClusterGraph): UseOfNodes | null {
  const known = KNOWN.get(cluster);
  if (known?.nodes === nodes) return known.use;
  const capacity = new Float64Array(nodes.length);
  const others = new Float64Array(nodes.length);
  const available = cluster.available("cpuMillicores");
  let isKnown = false;
  for (const [index, { name }] of nodes.entries()) {
    const id = cluster.idOf(name);
    const whole = cluster.nodes[id]?.allocatableCpuMillicores ?? null;
    const free = available[id] ?? Number.NaN;
    if (whole === null || !(whole > 0) || Number.isNaN(free)) continue;
    isKnown = true;
    capacity[index] = whole;
    others[index] = Math.max(0, whole - free);
  }
  const use = isKnown ? { capacity, others } : null;
  KNOWN.set(cluster, { nodes, use });
  return use;
}
