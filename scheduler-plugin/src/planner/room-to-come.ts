// Decides whether a plan waits for terminating pods of its workflow: until they are gone their room counts as
// taken, and the plan would avoid it.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { identifyPod } from "../domain/pod.ts";
import type { ClusterModel } from "./cluster-model.ts";
import type { GatedWorkflow } from "./gated-workflows.ts";

interface Patience {
  /** Limit for pods with a longer grace period: most end early. */
  readonly maxSettleMs: number;
  /** Limit for pods whose grace period ends by then. */
  readonly graphWaitMs: number;
  readonly waitedMs: number;
  /** Wall clock, as in the pods' deletionTimestamp. */
  readonly nowMs: number;
}

export function isRoomComing(
  { key }: Pick<GatedWorkflow, "key">,
  model: Pick<ClusterModel, "leaving">,
  { maxSettleMs, graphWaitMs, waitedMs, nowMs }: Patience,
): boolean {
  if (waitedMs >= graphWaitMs) return false;
  const latestMs = nowMs + graphWaitMs - waitedMs;
  return leavingOf(key, model).some(
    ({ metadata }) => waitedMs < maxSettleMs || Date.parse(metadata.deletionTimestamp ?? "") <= latestMs,
  );
}

export function leavingOf(workflow: string, model: Pick<ClusterModel, "leaving">): KubernetesObject[] {
  return [...model.leaving()].filter((pod) => workflowOf(pod) === workflow);
}

export function workflowOf(pod: KubernetesObject): string {
  const { namespace, workflow } = identifyPod(pod);
  return `${namespace}/${workflow}`;
}
