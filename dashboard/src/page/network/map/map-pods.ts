import { naturally } from "@isochrone/primitives";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";

interface MapPod {
  readonly pod: string;
  readonly workload: string;
  /** Null: unscheduled. */
  readonly node: string | null;
}

export function podsOf({ workloads }: Pick<WorkflowGraphSnapshot, "workloads">): MapPod[] {
  return workloads
    .flatMap(({ namespace, name, pods }) =>
      pods.map((pod) => ({ pod: pod.name, workload: `${namespace}/${name}`, node: pod.node })),
    )
    .sort((a, b) => naturally(a.workload, b.workload) || naturally(a.pod, b.pod));
}

export const nameOfWorkload = (workload: string): string => workload.slice(workload.indexOf("/") + 1);

export function podCounts(pods: readonly MapPod[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { node } of pods) if (node !== null) counts.set(node, (counts.get(node) ?? 0) + 1);
  return counts;
}
