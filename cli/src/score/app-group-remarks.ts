import type { KubernetesObject } from "@isochrone/kubernetes";
import { appGroupLabels } from "@isochrone/topology";
import type { DumpObject } from "./read-objects.ts";
import type { ScoredDump } from "./scored-dump.ts";

/** Returns the AppGroups of the pod's namespace that it may be of: the one that its label names, or any. */
export function appGroupsOf(objects: readonly DumpObject[], { metadata }: KubernetesObject): DumpObject[] {
  const group = appGroupLabels(metadata.labels)?.group ?? null;
  return objects.filter(
    ({ kind, namespace, name }) =>
      kind === "AppGroup" && namespace === metadata.namespace && (group === null || name === group),
  );
}

const MAX_REMARKS = 5;

/** Tells why AppGroups that the pod may be of don't count as they were meant. */
export function appGroupRemarks({ objects, pod, cluster }: ScoredDump): string[] {
  const { namespace } = pod.metadata;
  const group = appGroupLabels(pod.metadata.labels)?.group ?? null;
  const own = appGroupsOf(objects, pod);
  const remarks = cluster.refused
    .filter(
      ({ reason, object: { kind, metadata } }) =>
        reason === "unmatched" &&
        own.some((each) => kind === each.kind && metadata.name === each.name) &&
        metadata.namespace === namespace,
    )
    .map(({ rule }) => rule);
  if (group !== null && own.length === 0) {
    const elsewhere = objects
      .filter(({ kind, name }) => kind === "AppGroup" && name === group)
      .map(({ namespace }) => namespace);
    const where =
      elsewhere.length === 0 ? "" : `; that of ${elsewhere.join(", ")} binds pods of its own namespace alone`;
    remarks.push(`the pod's label names AppGroup ${group}, which isn't in namespace ${namespace}${where}`);
  }
  return remarks.slice(0, MAX_REMARKS);
}
