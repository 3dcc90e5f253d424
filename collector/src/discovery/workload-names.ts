import { workloadOf, type KubernetesObject } from "@isochrone/kubernetes";

/** Argo's Rollouts own ReplicaSets as Deployments do, with a label of their own. */
const ROLLOUT_HASH = "rollouts-pod-template-hash";
/** What the controller of CronJobs appends to the names of Jobs: minutes since the epoch. */
const CRON_JOB_TIME = /-\d{8,10}$/;

/**
 * Names that the mesh may give a pod's workload, by its owner alone, never by its labels: the one that the
 * graphs know it by, and where Istio looks further up (pkg/kube/inject GetDeployMetaFromPod), that one.
 */
export function workloadNames(pod: KubernetesObject): readonly string[] {
  const { kind, name } = workloadOf(pod);
  const hash = pod.metadata.labels?.[ROLLOUT_HASH];
  if (kind === "ReplicaSet" && hash && name.endsWith(`-${hash}`))
    return [name, name.slice(0, -hash.length - 1)];
  if (kind === "Job" && CRON_JOB_TIME.test(name)) return [name, name.replace(CRON_JOB_TIME, "")];
  return [name];
}
