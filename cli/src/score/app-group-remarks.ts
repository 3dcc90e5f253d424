import type { KubernetesObject } from "@isochrone/kubernetes";
import { appGroupLabels } from "@isochrone/topology";
import type { DumpObject } from "./read-objects.ts";
import type { ScoredDump } from "./scored-dump.ts";

export function appGroupsOf(objects: readonly DumpObject[], { metadata }: KubernetesObject): DumpObject[] {
  const group = appGroupLabels(metadata.labels)?.group ?? null;
  return objects.filter(
    ({ kind, namespace, name }) =>
      kind === "AppGroup" && namespace === metadata.namespace && (group === null || name === group),
  );
}

const MAX_REMARKS = 5;

/** Explains why AppGroups of the pod have no effect, or not the intended one. */
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
