import { controlledWorkload, CONTROLLER_LABELS } from "@isochrone/primitives/workload-name";
import { KINDS } from "../kinds.ts";
import type { KubernetesObject, OwnerReference } from "./port.ts";

/** What a pod is a replica of. */
interface WorkloadRef {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
}

/** Label of pods of a StreamJob: the task that they are. */
export const STREAM_TASK_LABEL = "isochrone.dev/stream-task";

/** Labels that {@link workloadOf} reads. */
export const WORKLOAD_LABELS: readonly string[] = [STREAM_TASK_LABEL, ...CONTROLLER_LABELS];

/** Each task of a StreamJob is a workload of its own; no other object has a name with a dot like this. */
export function streamWorkloadName(job: string, task: string): string {
  return `${job}.${task}`;
}

/** Looks a ReplicaSet up, in a cache for instance; null or undefined when it is not known. */
type ReplicaSetLookup = (namespace: string, name: string) => KubernetesObject | null | undefined;

/**
 * Returns the workload of a pod: what its controller stands for ({@link controlledWorkload}), or the
 * controller above a ReplicaSet that is known. A pod without a controller is its own workload.
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
