// How a pod's workload is called, by its controller and its labels. The names are those that Istio
// (GetDeployMetaFromPod), Cilium and OpenTelemetry's k8sattributes give.

/** Kind and name of an object in a known namespace. */
interface NamedObject {
  readonly kind: string;
  readonly name: string;
}

/** Hash of the pod template that a Deployment's pods carry; its ReplicaSets have it at their name's end. */
const TEMPLATE_HASH = "pod-template-hash";
/** The same of Argo's Rollouts. */
const ROLLOUT_HASH = "rollouts-pod-template-hash";
/** Name of the DeploymentConfig (OpenShift) whose ReplicationController owns the pod. */
const DEPLOYMENT_CONFIG = "deploymentconfig";

/** Labels that {@link controlledWorkload} reads. */
export const CONTROLLER_LABELS: readonly string[] = [TEMPLATE_HASH, ROLLOUT_HASH, DEPLOYMENT_CONFIG];

/** The time that the controller of CronJobs appends to the names of its Jobs: minutes or seconds. */
const SCHEDULE_SUFFIX = /^(.+)-\d{8,10}$/;

/**
 * Returns the workload of a pod with a controller. A scheduled Job is its CronJob, a ReplicationController
 * its DeploymentConfig, a ReplicaSet that ends with the pod's hash its Deployment or Rollout. A static pod is
 * a workload without its node's name: equal ones of several nodes are one. A pod of another pod is its own.
 */
export function controlledWorkload(
  pod: { readonly name: string; readonly labels: Readonly<Record<string, unknown>> | undefined },
  { kind, name }: NamedObject,
): NamedObject {
  const label = (key: string): string => {
    const text = pod.labels?.[key];
    return typeof text === "string" ? text : "";
  };
  switch (kind) {
    case "Pod":
      return { kind, name: pod.name };
    case "Node":
      return { kind: "StaticPod", name: withoutEnd(pod.name, name) ?? pod.name };
    case "Job": {
      const schedule = SCHEDULE_SUFFIX.exec(name)?.[1];
      return schedule === undefined ? { kind, name } : { kind: "CronJob", name: schedule };
    }
    case "ReplicationController": {
      const config = label(DEPLOYMENT_CONFIG);
      return config === "" ? { kind, name } : { kind: "DeploymentConfig", name: config };
    }
    case "ReplicaSet": {
      const deployment = withoutEnd(name, label(TEMPLATE_HASH));
      if (deployment !== null) return { kind: "Deployment", name: deployment };
      const rollout = withoutEnd(name, label(ROLLOUT_HASH));
      return rollout === null ? { kind, name } : { kind: "Rollout", name: rollout };
    }
    default:
      return { kind, name };
  }
}

/** Returns null if the name doesn't end with a dash and this text. */
function withoutEnd(name: string, end: string): string | null {
  return end !== "" && name.endsWith(`-${end}`) ? name.slice(0, -end.length - 1) : null;
}
