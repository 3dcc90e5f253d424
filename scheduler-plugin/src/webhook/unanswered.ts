// Detects pods created without the webhook's answer. The API server ignores a late answer (failurePolicy
// Ignore) and reports it only in its own metrics.
import {
  gatesOf,
  PLACEMENT_ENABLED,
  PLACEMENT_GATE,
  PLACEMENT_LABEL,
  WEBHOOK_ANSWER,
} from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { exclusionOf } from "./gate-rules.ts";
import type { GateRules } from "./gate-rules.ts";

export interface CreatedPod {
  readonly pod: KubernetesObject;
  readonly namespace: KubernetesObject | null;
  readonly appGroup: KubernetesObject | null;
}

/** True if the pod asks for the gate by current labels and has no answer. */
export function isUnanswered({ pod, namespace, appGroup }: CreatedPod, rules: GateRules): boolean {
  if (pod.metadata.annotations?.[WEBHOOK_ANSWER] !== undefined) return false;
  if (gatesOf(pod).includes(PLACEMENT_GATE)) return false;
  const isEnabled = namespace?.metadata.labels?.[PLACEMENT_LABEL] === PLACEMENT_ENABLED;
  // It may have got its node since.
  const asCreated = { ...pod, spec: { ...pod.spec, nodeName: undefined } };
  return (
    exclusionOf(
      {
        pod: asCreated,
        namespace: pod.metadata.namespace ?? "default",
        entry: isEnabled ? "namespace" : "pod",
        appGroup,
      },
      rules,
    ) === null
  );
}
