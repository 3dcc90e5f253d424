import { looseFields } from "@isochrone/primitives";
import { hasCondition } from "../../store/conditions.ts";
import { StoreError } from "../../store/errors.ts";
import { matchesSelector } from "../../store/labels.ts";
import { timestamp } from "../../store/objects.ts";
import type { KubernetesObject } from "../../store/port.ts";

/**
 * Null: no budget applies. Throws StoreError `too_many_requests` if it is spent.
 * @param budgets all of the pod's namespace
 */
export function budgetAfterEviction(
  pod: KubernetesObject,
  budgets: readonly KubernetesObject[],
  nowMs: number,
): KubernetesObject | null {
  const phase = pod.status?.phase;
  // Budgets ignore pods that aren't running, and count terminating ones already.
  if (phase === "Succeeded" || phase === "Failed" || phase === "Pending" || pod.metadata.deletionTimestamp)
    return null;
  const own = budgets.filter((budget) => matchesSelector(budget.spec?.selector, pod.metadata.labels));
  const [budget, second] = own;
  if (!budget) return null;
  const subject = `eviction of pod ${pod.metadata.namespace}/${pod.metadata.name}`;
  if (second) {
    throw new StoreError(
      "unavailable",
      `${subject}: the pod has more than one PodDisruptionBudget (${own.map(({ metadata }) => metadata.name).join(", ")}), which evictions do not support`,
    );
  }
  return ignoresUnhealthy(budget, pod) ? null : spent(budget, pod, subject, nowMs);
}

function spent(
  budget: KubernetesObject,
  pod: KubernetesObject,
  subject: string,
  nowMs: number,
): KubernetesObject {
  const { disruptionsAllowed, disruptedPods, observedGeneration } = budget.status ?? {};
  const { name, generation = 0 } = budget.metadata;
  if (typeof observedGeneration === "number" && observedGeneration < generation) {
    throw new StoreError(
      "too_many_requests",
      `${subject}: the disruption budget ${name} is still being processed by the server`,
    );
  }
  const allowed = Number(disruptionsAllowed ?? 0);
  if (!(allowed > 0)) {
    throw new StoreError(
      "too_many_requests",
      `${subject}: cannot evict pod as it would violate the pod's disruption budget ${name}`,
    );
  }
  const disrupted = { ...looseFields(disruptedPods), [pod.metadata.name]: timestamp(nowMs) };
  return {
    ...budget,
    status: { ...budget.status, disruptionsAllowed: allowed - 1, disruptedPods: disrupted },
  };
}

/** Whether evicting an unready pod is free: the budget is met without it, or allows it. */
function ignoresUnhealthy(budget: KubernetesObject, pod: KubernetesObject): boolean {
  if (hasCondition(pod, "Ready")) return false;
  if (budget.spec?.unhealthyPodEvictionPolicy === "AlwaysAllow") return true;
  const { currentHealthy, desiredHealthy } = budget.status ?? {};
  return Number(desiredHealthy ?? 0) > 0 && Number(currentHealthy ?? 0) >= Number(desiredHealthy);
}
