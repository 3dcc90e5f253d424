import { controlledWorkload, CONTROLLER_LABELS } from "@isochrone/primitives/workload-name";
import { KINDS } from "../kinds.ts";
import type { KubernetesObject, OwnerReference } from "./port.ts";

interface WorkloadRef {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
}

/** Label of a StreamJob's pods: their task. */
export const STREAM_TASK_LABEL = "isochrone.dev/stream-task";

export const WORKLOAD_LABELS: readonly string[] = [STREAM_TASK_LABEL, ...CONTROLLER_LABELS];

/** Each task of a StreamJob is a workload. No other object's name has such a dot. */
export function streamWorkloadName(job: string, task: string): string {
  return `${job}.${task}`;
}

type ReplicaSetLookup = (namespace: string, name: string) => KubernetesObject | null | undefined;

/**
 * The workload that the pod's controller stands for ({@link controlledWorkload}), or the controller of a
 * known ReplicaSet. A pod without a controller is its own workload.
 */
export function workloadOf(pod: KubernetesObject, getReplicaSet: ReplicaSetLookup = () => null): WorkloadRef {
  const { name, labels, namespace = "default" } = pod.metadata;
  const owner = controllerOf(pod);
  if (owner === undefined) return { namespace, kind: "Pod", name };
  const task = owner.kind === KINDS.streamJob.kind ? labels?.[STREAM_TASK_LABEL] : undefined;
  if (task !== undefined) return { namespace, kind: owner.kind, name: streamWorkloadName(owner.name, task) };
  const replicaSet = owner.kind === KINDS.replicaSet.kind ? getReplicaSet(namespace, owner.name) : null;
  if (!replicaSet) return { namespace, ...controlledWorkload({ name, labels }, owner) };
  const { kind, name: above } = controllerOf(replicaSet) ?? owner;
  return { namespace, kind, name: above };
}

function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}
