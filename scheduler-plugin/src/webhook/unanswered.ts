// Which pods were created without the webhook's answer. The API server goes on without one that comes too
// late (failurePolicy Ignore), and tells nobody but its own metrics.
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
  /** The pod's; null: not known. */
  readonly namespace: KubernetesObject | null;
  /** That the pod's label names; null: none, or not known. */
  readonly appGroup: KubernetesObject | null;
}

/** Whether the pod asks for the gate, as its labels and its namespace's are now, and has no answer. */
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
