import { describe, expect, it } from "vitest";

import { KINDS } from "../kinds.ts";
import type { KubernetesObject } from "./port.ts";
import { trimmedNode, trimmedPod, trimmedReplicaSet, trimmedWorkload } from "./trims.ts";
import { nodeView, podView } from "./views.ts";
import { workloadOf } from "./workloads.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d4", uid: "u", controller: true };

const POD: KubernetesObject = {
  ...KINDS.pod,
  metadata: {
    name: "web-5d4-x",
    namespace: "shop",
    uid: "1",
    resourceVersion: "7",
    labels: { app: "web", "pod-template-hash": "5d4" },
    annotations: { "kubernetes.io/egress-bandwidth": "10M", [LAST_APPLIED]: "{}".repeat(500) },
    ownerReferences: [owner],
  },
  spec: {
    nodeName: "n1",
    overhead: { cpu: "10m" },
    containers: [
      {
        name: "main",
        image: "x".repeat(500),
        env: [{ name: "A", value: "b".repeat(500) }],
        resources: { requests: { cpu: "100m", memory: "1Gi" }, limits: { cpu: "1" } },
      },
    ],
    initContainers: [{ name: "side", restartPolicy: "Always", resources: { requests: { cpu: "50m" } } }],
  },
  status: {
    phase: "Running",
    podIP: "10.0.0.1",
    conditions: [
      { type: "Ready", status: "True", lastTransitionTime: "2026-01-02T03:04:05Z" },
      { type: "Initialized", status: "True" },
    ],
    containerStatuses: [{ name: "main", imageID: "y".repeat(500) }],
  },
};

describe("trims", () => {
  it("leave of a pod all that is read of it, and little else", () => {
    const trimmed = trimmedPod(POD);
    const { annotations: _, ...view } = podView(POD);
    expect(podView(trimmed)).toMatchObject({ ...view });
    expect(workloadOf(trimmed)).toEqual(workloadOf(POD));
    expect(trimmed.metadata.annotations).toEqual({ "kubernetes.io/egress-bandwidth": "10M" });
    expect(JSON.stringify(trimmed).length).toBeLessThan(1_000);
  });

  it("leave of a node all that is read of it", () => {
    const node: KubernetesObject = {
      ...KINDS.node,
      metadata: { name: "n", labels: { "topology.kubernetes.io/zone": "z" } },
      spec: { unschedulable: true, podCIDR: "10.0.0.0/24", providerID: "aws:///us-east-1a/i-0123" },
      status: {
        capacity: { "network.aware.com/bandwidth": "10G" },
        allocatable: { cpu: "4", memory: "16Gi" },
        conditions: [{ type: "Ready", status: "True" }],
        images: [{ names: ["x".repeat(900)] }],
      },
    };
    expect(nodeView(trimmedNode(node))).toEqual(nodeView(node));
    expect(nodeView(node)).toMatchObject({ provider: "aws" });
    expect(trimmedNode(node).status).toMatchObject({ capacity: { "network.aware.com/bandwidth": "10G" } });
    expect(JSON.stringify(trimmedNode(node))).not.toContain("xxx");
  });

  it("leave of workloads their labels, of ReplicaSets their owners", () => {
    const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main" }] } };
    const workload = { ...KINDS.deployment, metadata: { name: "web" }, spec: { replicas: 3, template } };
    expect(trimmedWorkload(workload).spec).toEqual({
      replicas: 3,
      template: { metadata: template.metadata },
    });
    const replicaSet = {
      ...KINDS.replicaSet,
      metadata: {
        name: "web-5d4",
        labels: { app: "web" },
        annotations: { a: "b" },
        ownerReferences: [owner],
      },
    };
    expect(trimmedReplicaSet(replicaSet).metadata).toEqual({ name: "web-5d4", ownerReferences: [owner] });
  });

  it("take fields of a wrong type for absent", () => {
    const odd = {
      ...KINDS.pod,
      metadata: { name: "p" },
      spec: { containers: "none" },
      status: { conditions: 1 },
    };
    expect(trimmedPod(odd)).toMatchObject({ spec: { containers: [] }, status: { conditions: [] } });
  });
});
