// The pod that shows whether kube-scheduler takes pods which request the managed resource.
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

/**
 * Tiny, harmless under restricted Pod Security, and of no rights: it needs to be scheduled only, not to run.
 */
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
          // Extended resources can't be overcommitted: the API server wants limit and request to be equal.
          resources: { requests: { cpu: "1m", memory: "1Mi", [resource]: "1" }, limits: { [resource]: "1" } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        },
      ],
    },
  };
}

/** Whether kube-scheduler gave it a node. */
export function isScheduled(pod: KubernetesObject): boolean {
  return (
    typeof looseFields<PodSpec>(pod.spec).nodeName === "string" &&
    looseFields<PodSpec>(pod.spec).nodeName !== ""
  );
}

/** kube-scheduler's words on a pod that has no node; null while it says nothing. */
export function whyPending(pod: KubernetesObject): string | null {
  const condition = conditionsOf(pod).find(
    ({ type, status }) => type === "PodScheduled" && status === "False",
  );
  return condition?.message ?? condition?.reason ?? null;
}
