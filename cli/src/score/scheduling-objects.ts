import { KINDS, withoutPlannedNodes } from "@isochrone/kubernetes/basics";
import type { ApiObject } from "@isochrone/placement";
import { recordOf } from "@isochrone/primitives";

export const SCHEDULING_KINDS = {
  nodes: KINDS.node,
  pods: KINDS.pod,
  namespaces: KINDS.namespace,
  persistentVolumes: KINDS.persistentVolume,
  persistentVolumeClaims: KINDS.persistentVolumeClaim,
  csiNodes: KINDS.csiNode,
  volumeAttachments: KINDS.volumeAttachment,
  services: KINDS.service,
  replicaSets: KINDS.replicaSet,
  deployments: KINDS.deployment,
  statefulSets: KINDS.statefulSet,
  disruptionBudgets: KINDS.podDisruptionBudget,
} as const;
export type SchedulingKind = keyof typeof SCHEDULING_KINDS;

export const FILTERED_BY = [
  "nodes",
  "pods",
  "namespaces",
  "persistentVolumes",
  "persistentVolumeClaims",
  "csiNodes",
  "volumeAttachments",
] as const;
export const MOVED_BY = [
  ...FILTERED_BY,
  "replicaSets",
  "deployments",
  "statefulSets",
  "disruptionBudgets",
] as const;
export const SCORED_BY = [...MOVED_BY, "services"] as const;

/** Returns the objects of each kind. Pods lose their planned nodes. */
export function objectsByKind<O extends ApiObject & { readonly kind: string }, K extends SchedulingKind>(
  objects: readonly O[],
  kinds: readonly K[],
): Record<K, O[]> {
  const byKind = Map.groupBy(objects, ({ kind }) => kind);
  return recordOf(kinds, (name) =>
    (byKind.get(SCHEDULING_KINDS[name].kind) ?? []).map((object) => withoutPlannedNodes(object)),
  );
}
