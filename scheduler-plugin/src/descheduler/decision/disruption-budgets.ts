import { KINDS, matchesSelector } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import type { DisruptionBudget } from "@isochrone/placement";
import type { Survey } from "./survey.ts";

/**
 * PodDisruptionBudgets as they are now.
 * @returns null when they can't be read: then the API server alone asks them
 */
export async function readBudgets(
  store: Pick<ClusterStore, "list">,
  { pods }: Survey,
): Promise<readonly DisruptionBudget[] | null> {
  if (pods.size === 0) return [];
  const budgets = await store.list(KINDS.podDisruptionBudget).catch(() => null);
  return budgets?.items.map((budget) => disruptionBudget(budget, pods)) ?? null;
}

function disruptionBudget(
  { metadata, spec = {}, status = {} }: KubernetesObject,
  pods: Survey["pods"],
): DisruptionBudget {
  const namespace = metadata.namespace ?? "default";
  return {
    name: `${namespace}/${metadata.name}`,
    allowed: Number(status.disruptionsAllowed ?? 0),
    covers: ({ uid, namespace: of }) =>
      of === namespace && matchesSelector(spec.selector, pods.get(uid)?.object.metadata.labels),
  };
}
