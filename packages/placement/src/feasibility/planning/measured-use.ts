import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { PlanNode, PlanPod, PlanUse } from "../../planner/objective/plan-problem.ts";

const CPU = "cpu";

/**
 * CPU as the graphs have measured it; undefined where no node's use is known. A pod is taken to use what pods
 * of its workload do on average, or what it requests as long as nobody has measured any.
 *
 * @param resources of the pods' demands
 */
export function measuredUse(
  nodes: readonly PlanNode[],
  pods: readonly PlanPod[],
  resources: readonly string[],
  { cluster, workflow }: { readonly cluster: ClusterGraph; readonly workflow: WorkflowGraph },
): PlanUse | undefined {
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
  if (!isKnown) return undefined;
  const cpu = resources.indexOf(CPU);
  const uses = Float64Array.from(pods, ({ workload, demand }) => {
    const measured = workload === null ? null : (workflow.workload(workload)?.cpuMillicores ?? null);
    return measured ?? demand[cpu] ?? 0;
  });
  for (const [pod, { current }] of pods.entries())
    if (current >= 0) others[current] = Math.max(0, others[current]! - uses[pod]!);
  return { capacity, others, pods: uses };
}
