import { KINDS, matchesSelector } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import type { DisruptionBudget } from "@isochrone/placement";
import type { Survey, SurveyedPod } from "./survey.ts";

/**
 * PodDisruptionBudgets as they are now.
 * @returns null when they can't be read: then only the API server checks them
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
  // The eviction API refuses while the controller hasn't seen the newest specification.
  const isCurrent = Number(status.observedGeneration ?? Infinity) >= (metadata.generation ?? 0);
  // A pod that is replaced first leaves as many healthy ones as there are now.
  const isMet = Number(status.currentHealthy ?? Number.NaN) >= Number(status.desiredHealthy ?? Number.NaN);
  const asks = (pod: SurveyedPod | undefined): boolean => !(isMet && pod?.canSurge === true);
  return {
    name: `${namespace}/${metadata.name}`,
    allowed: isCurrent ? Number(status.disruptionsAllowed ?? 0) : 0,
    covers: ({ uid, namespace: of }) =>
      of === namespace &&
      asks(pods.get(uid)) &&
      matchesSelector(spec.selector, pods.get(uid)?.object.metadata.labels),
  };
}
