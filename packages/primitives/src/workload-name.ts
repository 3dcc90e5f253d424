// Derives a pod's workload name from controller and labels, as Istio (GetDeployMetaFromPod), Cilium and
// OpenTelemetry's k8sattributes do.

interface NamedObject {
  readonly kind: string;
  readonly name: string;
}

/** Label with the pod template's hash, which ends the name of a Deployment's ReplicaSet. */
const TEMPLATE_HASH = "pod-template-hash";
const ROLLOUT_HASH = "rollouts-pod-template-hash";
/** Label with the name of an OpenShift DeploymentConfig. */
const DEPLOYMENT_CONFIG = "deploymentconfig";

export const CONTROLLER_LABELS: readonly string[] = [TEMPLATE_HASH, ROLLOUT_HASH, DEPLOYMENT_CONFIG];

/** Time suffix of a CronJob's Jobs: minutes or seconds. */
const SCHEDULE_SUFFIX = /^(.+)-\d{8,10}$/;

/**
 * The workload of a controlled pod. A scheduled Job maps to its CronJob, a ReplicationController to its
 * DeploymentConfig, a ReplicaSet ending with the pod's hash to its Deployment or Rollout. A static pod's
 * workload omits the node name, so that equal ones are one. A pod owned by a pod is its own workload.
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

function withoutEnd(name: string, end: string): string | null {
  return end !== "" && name.endsWith(`-${end}`) ? name.slice(0, -end.length - 1) : null;
}
