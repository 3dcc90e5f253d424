// Reads AppGroups and pods as upstream's NetworkOverhead plugin does: only labels, all scheduled pods of all
// namespaces, and each listed dependency, even repeated ones. Source: GetDependencyList and GetScheduledList
// in pkg/networkaware/util/util.go of KEP-260.
import { podView } from "@isochrone/kubernetes/basics";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { PlacementProblem } from "@isochrone/placement";
import { APP_GROUP_LABELS, appGroupLabels, WorkflowGraph } from "@isochrone/topology";
import type { AppGroupId, Channel, WorkloadReference } from "@isochrone/topology";
import { appGroupsOf } from "./app-group-remarks.ts";
import { appGroupText, limitsOf } from "./declaration-faults.ts";
import { NO_TIME } from "./dump-cluster.ts";
import type { ScoredDump } from "./scored-dump.ts";

interface UpstreamWorkflow {
  readonly workflow: PlacementProblem["workflow"];
  /** Null: the pod belongs to no AppGroup. */
  readonly workload: string | null;
}

/** Throws DumpError. */
export function upstreamWorkflow({ objects, pod, pods: all, cluster }: ScoredDump): UpstreamWorkflow {
  const namespace = pod.metadata.namespace!;
  const label = appGroupLabels(pod.metadata.labels)?.group ?? null;
  const groups = appGroupsOf(objects, pod);
  if (label !== null && groups.length === 0) {
    const reason = `AppGroup ${namespace}/${label} is not in the dump`;
    return { workflow: { graph: null, reason }, workload: label };
  }
  const own = `${namespace}/${cluster.workloadOf(pod).name}`;
  // A reference without a selector is our extension: it means the pods of the named workload.
  const isCarrier = (one: KubernetesObject, group: AppGroupId, reference: WorkloadReference): boolean => {
    const { namespace: from, labels } = one.metadata;
    const { selector, name, namespace: named } = reference;
    if (selector === null)
      return from === (named ?? group.namespace) && cluster.workloadOf(one).name === name;
    return labels?.[APP_GROUP_LABELS.group] === group.name && labels[APP_GROUP_LABELS.selector] === selector;
  };
  const channels: Channel[] = [];
  const pods = new Map<string, readonly KubernetesObject[]>();
  for (const group of groups) {
    const { id, dependencies } = appGroupText(group);
    for (const dependency of dependencies) {
      const { source, target, path } = dependency;
      // The plugin ignores annotations.
      if (path.length === 0 || !isCarrier(pod, id, source)) continue;
      const name = isCarrier(pod, id, target) ? own : nameOf(target, id);
      pods.set(
        name,
        all.filter((each) => isCarrier(each, id, target)),
      );
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
      pods: found.map(podView).map((each) => ({
        // Pods of two namespaces may share a name.
        name: each.namespace === namespace ? each.name : `${each.namespace}/${each.name}`,
        node: each.node,
      })),
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

/** Joins selector and AppGroup to a name that no namespace can have. */
function nameOf({ selector, namespace, name }: WorkloadReference, group: AppGroupId): string {
  return selector === null ? `${namespace ?? group.namespace}/${name}` : `${group.name}: ${selector}`;
}
