import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";

interface AuditedPod {
  /** @default true */
  readonly ready?: boolean;
  readonly terminating?: boolean;
  /** Last transition of the Ready condition. @default the condition has no transition time */
  readonly changedMs?: number;
}

/** @param name workload, template hash and suffix, joined by dashes */
export function auditedPod(name: string, node: string, more: AuditedPod = {}): KubernetesObject {
  const { ready = true, terminating = false, changedMs } = more;
  const time = changedMs === undefined ? {} : { lastTransitionTime: new Date(changedMs).toISOString() };
  const workload = name.split("-")[0]!;
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: `${workload}-5f`,
    uid: "r",
    controller: true,
  };
  return {
    ...KINDS.pod,
    metadata: {
      name,
      namespace: "default",
      uid: name,
      labels: { app: workload, "pod-template-hash": "5f" },
      ownerReferences: [owner],
      ...(terminating ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: { nodeName: node, containers: [] },
    status: { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False", ...time }] },
  };
}
