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

/** Hash of the pod template that a Deployment's pods carry and its ReplicaSets have at the end of their name. */
const TEMPLATE_HASH = "pod-template-hash";
/** The same of Argo's Rollouts. */
const ROLLOUT_HASH = "rollouts-pod-template-hash";
/** Name of the DeploymentConfig (OpenShift) whose ReplicationController owns the pod. */
const DEPLOYMENT_CONFIG = "deploymentconfig";

/** Labels that {@link workloadOf} reads. */
export const WORKLOAD_LABELS: readonly string[] = [
  STREAM_TASK_LABEL,
  TEMPLATE_HASH,
  ROLLOUT_HASH,
  DEPLOYMENT_CONFIG,
];

/** The time that the controller of CronJobs appends to the names of its Jobs: minutes or seconds. */
const SCHEDULE_SUFFIX = /^(.+)-\d{8,10}$/;

/** Each task of a StreamJob is a workload of its own; no other object has a name with a dot like this. */
export function streamWorkloadName(job: string, task: string): string {
  return `${job}.${task}`;
}

/** Looks a ReplicaSet up, in a cache for instance; null or undefined when it is not known. */
type ReplicaSetLookup = (namespace: string, name: string) => KubernetesObject | null | undefined;

/**
 * Returns the workload of a pod: its controller, or the controller above where that is a ReplicaSet. Names
 * follow Istio and OpenTelemetry: a scheduled Job is its CronJob, a ReplicationController its
 * DeploymentConfig. A ReplicaSet that is not known is its Deployment's or Rollout's if it ends with the pod's
 * hash. A static pod is a workload without its node's name, so that equal pods of several nodes are one. A pod
 * without a controller, or of another pod, is its own workload.
 */
export function workloadOf(pod: KubernetesObject, getReplicaSet: ReplicaSetLookup = () => null): WorkloadRef {
  const namespace = pod.metadata.namespace ?? "default";
  const owner = controllerOf(pod);
  return {
    namespace,
    ...(owner === undefined ? ownOf(pod) : ofController(pod, namespace, owner, getReplicaSet)),
  };
}

type Named = Omit<WorkloadRef, "namespace">;

function ownOf({ metadata }: KubernetesObject): Named {
  return { kind: "Pod", name: metadata.name };
}

function ofController(
  pod: KubernetesObject,
  namespace: string,
  { kind, name }: OwnerReference,
  getReplicaSet: ReplicaSetLookup,
): Named {
  const { labels = {} } = pod.metadata;
  switch (kind) {
    case "Pod":
      return ownOf(pod);
    case "Node":
      return { kind: "StaticPod", name: withoutEnd(pod.metadata.name, name) ?? pod.metadata.name };
    case KINDS.streamJob.kind: {
      const task = labels[STREAM_TASK_LABEL];
      return { kind, name: task === undefined ? name : streamWorkloadName(name, task) };
    }
    case KINDS.job.kind: {
      const schedule = SCHEDULE_SUFFIX.exec(name)?.[1];
      return schedule === undefined ? { kind, name } : { kind: "CronJob", name: schedule };
    }
    case "ReplicationController": {
      const config = labels[DEPLOYMENT_CONFIG] ?? "";
      return config === "" ? { kind, name } : { kind: "DeploymentConfig", name: config };
    }
    case KINDS.replicaSet.kind:
      return ofReplicaSet(name, labels, getReplicaSet(namespace, name));
    default:
      return { kind, name };
  }
}

function ofReplicaSet(
  name: string,
  labels: Readonly<Record<string, string>>,
  replicaSet: KubernetesObject | null | undefined,
): Named {
  const above = replicaSet ? controllerOf(replicaSet) : undefined;
  if (above !== undefined) return { kind: above.kind, name: above.name };
  if (!replicaSet) {
    const deployment = withoutEnd(name, labels[TEMPLATE_HASH]);
    if (deployment !== null) return { kind: KINDS.deployment.kind, name: deployment };
    const rollout = withoutEnd(name, labels[ROLLOUT_HASH]);
    if (rollout !== null) return { kind: "Rollout", name: rollout };
  }
  return { kind: KINDS.replicaSet.kind, name };
}

/** Returns null if the name doesn't end with a dash and this text. */
function withoutEnd(name: string, end: string | undefined): string | null {
  return end !== undefined && end !== "" && name.endsWith(`-${end}`) ? name.slice(0, -end.length - 1) : null;
}

function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}
