import { conditionsOf } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { KubernetesObject, PodSpec } from "@isochrone/kubernetes";

/** Label of canaries, so that those of a replica that died are found. */
export const CANARY_LABEL = "isochrone.dev/canary";

interface CanarySpec {
  readonly namespace: string;
  readonly name: string;
  readonly resource: string;
  readonly image: string;
  readonly schedulerName: string;
}

/** Must be scheduled, not run: minimal requests, passes restricted Pod Security, no rights. */
export function canaryPod({ namespace, name, resource, image, schedulerName }: CanarySpec): KubernetesObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name, labels: { [CANARY_LABEL]: "managed-resource" } },
    spec: {
      schedulerName,
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 65_534,
        seccompProfile: { type: "RuntimeDefault" },
      },
      containers: [
        {
          name: "pause",
          image,
          // The API server requires limit = request for extended resources.
          resources: { requests: { cpu: "1m", memory: "1Mi", [resource]: "1" }, limits: { [resource]: "1" } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        },
      ],
    },
  };
}

export function isScheduled(pod: KubernetesObject): boolean {
  return (
    typeof looseFields<PodSpec>(pod.spec).nodeName === "string" &&
    looseFields<PodSpec>(pod.spec).nodeName !== ""
  );
}

/** kube-scheduler's reason why the pod has no node; null if it has given none. */
export function whyPending(pod: KubernetesObject): string | null {
  const condition = conditionsOf(pod).find(
    ({ type, status }) => type === "PodScheduled" && status === "False",
  );
  return condition?.message ?? condition?.reason ?? null;
}
