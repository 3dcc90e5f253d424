// Whether a plan should wait for pods of its workflow that are being deleted: until they are gone, their room
// counts as taken, and a plan for the whole workflow would go around it.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { identifyPod } from "../domain/pod.ts";
import type { ClusterModel } from "./cluster-model.ts";
import type { GatedWorkflow } from "./gated-workflows.ts";

interface Patience {
  /** For pods whose grace period is longer than that: most of them end soon. */
  readonly maxSettleMs: number;
  /** For pods whose grace period ends by then. */
  readonly graphWaitMs: number;
  /** Since the workflow's first pod was seen. */
  readonly waitedMs: number;
  /** Wall clock, as the API server's in the pods' deletionTimestamp. */
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

/** Pods of the workflow whose room others will have soon. @param workflow namespace/workflow */
export function leavingOf(workflow: string, model: Pick<ClusterModel, "leaving">): KubernetesObject[] {
  return [...model.leaving()].filter((pod) => workflowOf(pod) === workflow);
}

/** namespace/workflow */
export function workflowOf(pod: KubernetesObject): string {
  const { namespace, workflow } = identifyPod(pod);
  return `${namespace}/${workflow}`;
}
