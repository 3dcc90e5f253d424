import type { WorkflowGraph } from "@isochrone/topology";
import { zoneScopes } from "../../zones/area-loads.ts";
import type { SchedulingPod } from "../objects/scheduling-pod.ts";
import { podCpuLimit } from "../objects/pod-cpu.ts";
import type { SchedulingModel } from "../scheduling-model.ts";

/**
 * Limit, else request, in millicores, by workload with nearest-replica routing. Omits workloads without both.
 * @param planned takes precedence as the newest
 */
export function replicaCpu(
  workflow: WorkflowGraph,
  model: SchedulingModel,
  planned: ReadonlyMap<string, SchedulingPod>,
): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { name } of workflow.workloads) {
    if (zoneScopes(workflow.channelsTo(name)) === null) continue;
    const pod = planned.get(name) ?? placedOf(workflow, model, name);
    const cpu = pod === undefined ? null : (podCpuLimit(pod.spec) ?? pod.requests.get("cpu") ?? null);
    if (cpu !== null && cpu > 0) found.set(name, cpu);
  }
  return found;
}

function placedOf(workflow: WorkflowGraph, model: SchedulingModel, name: string): SchedulingPod | undefined {
  const workload = workflow.workload(name);
  for (const pod of workload?.pods ?? []) {
    const key = `${workload!.namespace}/${pod.name}`;
    const placed = model.nodeOf(key)?.pods.get(key);
    if (placed !== undefined) return placed;
  }
  return undefined;
}
