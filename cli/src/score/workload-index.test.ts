import { workloadOf, type KubernetesObject } from "@isochrone/kubernetes";
import { expect, test } from "vitest";
import { WorkloadIndex } from "./dump-pods.ts";
import { readObjects } from "./read-objects.ts";

function podOf(kind: string, owner: string, labels: Record<string, string> = {}): KubernetesObject {
  const ownerReferences = [{ apiVersion: "v1", kind, name: owner, uid: "u", controller: true }];
  const metadata = { name: `etcd-${owner}`, namespace: "shop", labels, ownerReferences };
  return { apiVersion: "v1", kind: "Pod", metadata };
}

test.each([
  podOf("ReplicaSet", "web-5d9", { "pod-template-hash": "5d9" }),
  podOf("ReplicaSet", "web-77b", { "rollouts-pod-template-hash": "77b" }),
  podOf("Job", "report-28934720"),
  podOf("ReplicationController", "web-3", { deploymentconfig: "web" }),
  podOf("StrimziPodSet", "kafka"),
  podOf("Node", "n1"),
  podOf("Pod", "driver"),
])(
  "a pod of a dump has the workload that the graphs know it by: $metadata.ownerReferences.0.kind $metadata.ownerReferences.0.name",
  (pod) => {
    const objects = readObjects(JSON.stringify(pod), "dump.json");
    const { kind, name } = workloadOf(pod);
    expect(new WorkloadIndex(objects).workloadOf(objects[0]!)).toEqual({ kind, name });
  },
);
