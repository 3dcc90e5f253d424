import { KINDS, matchesSelector } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import type { DisruptionBudget } from "@isochrone/placement";
import type { Survey, SurveyedPod } from "./survey.ts";

/**
 * Reads the current PodDisruptionBudgets.
 * @returns null if they can't be read: then only the API server checks them
 */
export async function readBudgets(
  store: Pick<ClusterStore, "list">,
  { pods }: Survey,
): Promise<readonly DisruptionBudget[] | null> {
  if (pods.size === 0) return [];
  const budgets = await store.list(KINDS.podDisruptionBudget).catch(() => null);
  return budgets?.items.map((budget) => disruptionBudget(budget, budgets.items, pods)) ?? null;
}

/** A pod that is replaced first leaves as many healthy pods as now, which is enough. */
export function isMet({ status }: KubernetesObject): boolean {
  const { currentHealthy, desiredHealthy } = looseFields<Health>(status);
  return Number(currentHealthy ?? Number.NaN) >= Number(desiredHealthy ?? Number.NaN);
}

interface Health {
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
}

function selects({ metadata, spec }: KubernetesObject, pod: KubernetesObject | undefined): boolean {
  return (
    (metadata.namespace ?? "default") === (pod?.metadata.namespace ?? "default") &&
    matchesSelector(looseFields<{ readonly selector: object }>(spec).selector, pod?.metadata.labels)
  );
}

function disruptionBudget(
  budget: KubernetesObject,
  all: readonly KubernetesObject[],
  pods: Survey["pods"],
): DisruptionBudget {
  const { metadata, status = {} } = budget;
  const namespace = metadata.namespace ?? "default";
  // The eviction API refuses while the controller hasn't observed the newest generation.
  const isCurrent = Number(status.observedGeneration ?? Infinity) >= (metadata.generation ?? 0);
  // The eviction API refuses pods with two budgets even if a replacement is ready.
  const asks = ({ canSurge, object }: SurveyedPod): boolean =>
    !canSurge || !isMet(budget) || all.filter((each) => selects(each, object)).length > 1;
  return {
    name: `${namespace}/${metadata.name}`,
    allowed: isCurrent ? Number(status.disruptionsAllowed ?? 0) : 0,
    covers: ({ uid }) => {
      const pod = pods.get(uid);
      return pod !== undefined && selects(budget, pod.object) && asks(pod);
    },
  };
}
