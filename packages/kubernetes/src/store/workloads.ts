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

/** Each task of a StreamJob is a workload of its own; no other object has a name with a dot like this. */
export function streamWorkloadName(job: string, task: string): string {
  return `${job}.${task}`;
}

/** Looks a ReplicaSet up, in a cache for instance; null or undefined when it is not known. */
type ReplicaSetLookup = (namespace: string, name: string) => KubernetesObject | null | undefined;

/**
 * Pod -> ReplicaSet -> Deployment; Pod -> StatefulSet, DaemonSet, Job ...; a pod without a controller is its
 * own workload. A ReplicaSet that is not known is taken for a Deployment's when the pod carries its hash at
 * the name's end, as a Deployment's always do.
 */
export function workloadOf(pod: KubernetesObject, getReplicaSet: ReplicaSetLookup = () => null): WorkloadRef {
  const namespace = pod.metadata.namespace ?? "default";
  const owner = controllerOf(pod);
  if (!owner) return { namespace, kind: "Pod", name: pod.metadata.name };
  const task = owner.kind === KINDS.streamJob.kind ? pod.metadata.labels?.[STREAM_TASK_LABEL] : undefined;
  if (task !== undefined) return { namespace, kind: owner.kind, name: streamWorkloadName(owner.name, task) };
  if (owner.kind !== "ReplicaSet") return { namespace, kind: owner.kind, name: owner.name };
  const replicaSet = getReplicaSet(namespace, owner.name);
  const above = replicaSet ? controllerOf(replicaSet) : undefined;
  if (above) return { namespace, kind: above.kind, name: above.name };
  const hash = pod.metadata.labels?.["pod-template-hash"];
  if (!replicaSet && hash && owner.name.endsWith(`-${hash}`)) {
    return { namespace, kind: "Deployment", name: owner.name.slice(0, -hash.length - 1) };
  }
  return { namespace, kind: "ReplicaSet", name: owner.name };
}

function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}
