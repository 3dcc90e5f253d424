// What upstream's NetworkOverhead plugin reads of AppGroups and pods: labels alone, every pod of every
// namespace that has a node, and each dependency as often as it is listed. KEP-260's code: GetDependencyList
// and GetScheduledList in pkg/networkaware/util/util.go.
import type { PlacementProblem } from "@isochrone/placement";
import { APP_GROUP_LABELS, appGroupLabels, WorkflowGraph } from "@isochrone/topology";
import type { AppGroupId, Channel, WorkloadReference } from "@isochrone/topology";
import { appGroupsOf, appGroupText, limitsOf } from "./dump-app-groups.ts";
import { NO_TIME } from "./dump-cluster.ts";
import { labelsOf, nodeOf } from "./dump-pods.ts";
import type { WorkloadIndex } from "./dump-pods.ts";
import type { DumpObject } from "./read-objects.ts";

/** The problem's part that is about the pod's AppGroup. */
interface UpstreamWorkflow {
  readonly workflow: PlacementProblem["workflow"];
  /** Null: the pod is of no AppGroup. */
  readonly workload: string | null;
}

/** Throws DumpError. */
export function upstreamWorkflow(
  objects: readonly DumpObject[],
  pod: DumpObject,
  index: WorkloadIndex,
): UpstreamWorkflow {
  const { namespace } = pod;
  const label = appGroupLabels(labelsOf(pod))?.group ?? null;
  const groups = appGroupsOf(objects, pod);
  if (label !== null && groups.length === 0) {
    const reason = `AppGroup ${namespace}/${label} is not in the dump`;
    return { workflow: { graph: null, reason }, workload: label };
  }
  const carriers = new Carriers(objects, index);
  const own = `${namespace}/${index.workloadOf(pod).name}`;
  const channels: Channel[] = [];
  const pods = new Map<string, readonly DumpObject[]>();
  for (const group of groups) {
    const { id, dependencies } = appGroupText(group);
    for (const dependency of dependencies) {
      const { source, target, path } = dependency;
      // What is annotated only the plugin doesn't know.
      if (path.length === 0 || !carriers.isOf(pod, id, source)) continue;
      const name = carriers.isOf(pod, id, target) ? own : nameOf(target, id);
      pods.set(name, carriers.of(id, target));
      channels.push({ ...NOTHING_SEEN, source: own, target: name, ...limitsOf(group, dependency) });
    }
  }
  const graph = new WorkflowGraph({
    version: 0,
    observedAt: NO_TIME,
    namespace,
    name: label ?? namespace,
    workloads: [...pods].map(([name, found]) => ({
      name,
      kind: "Unknown",
      namespace,
      cpuMillicores: null,
      memoryBytes: null,
      pods: found.map((each) => ({ name: podName(each, pod), node: nodeOf(each) })),
    })),
    channels,
  });
  return {
    workflow: { graph, ageSeconds: null },
    workload: label === null && channels.length === 0 ? null : own,
  };
}

const NOTHING_SEEN = {
  bytesPerSecond: null,
  requestsPerSecond: null,
  errorRatio: null,
  priority: null,
  origin: "declared",
  ageSeconds: null,
} as const;

/** Finds pods as a reference of an AppGroup means them. */
class Carriers {
  readonly #pods: readonly DumpObject[];
  readonly #index: WorkloadIndex;

  constructor(objects: readonly DumpObject[], index: WorkloadIndex) {
    this.#pods = objects.filter(({ kind }) => kind === "Pod");
    this.#index = index;
  }

  of(group: AppGroupId, reference: WorkloadReference): DumpObject[] {
    return this.#pods.filter((pod) => this.isOf(pod, group, reference));
  }

  /** The form without selectors is not the plugin's: it means the pods of the workload of that name. */
  isOf(pod: DumpObject, group: AppGroupId, { selector, name, namespace }: WorkloadReference): boolean {
    const labels = labelsOf(pod);
    if (selector !== null)
      return labels[APP_GROUP_LABELS.group] === group.name && labels[APP_GROUP_LABELS.selector] === selector;
    return pod.namespace === (namespace ?? group.namespace) && this.#index.workloadOf(pod).name === name;
  }
}

/** No namespace is called like a selector with its AppGroup. */
function nameOf({ selector, namespace, name }: WorkloadReference, group: AppGroupId): string {
  return selector === null ? `${namespace ?? group.namespace}/${name}` : `${group.name}: ${selector}`;
}

/** Pods of two namespaces may be called alike. */
function podName({ namespace, name }: DumpObject, scored: DumpObject): string {
  return namespace === scored.namespace ? name : `${namespace}/${name}`;
}
