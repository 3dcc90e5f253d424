import { describe, expect, it } from "vitest";

import { matchesLabels, workflowOf } from "./labels.ts";
import { KINDS } from "../kinds.ts";
import type { KubernetesObject, OwnerReference } from "./port.ts";
import { nodeView, podView } from "./views.ts";
import { workloadOf } from "./workloads.ts";

const node = (rest: Partial<KubernetesObject>): KubernetesObject => ({
  ...KINDS.node,
  metadata: { name: "n" },
  ...rest,
});
const pod = (rest: Partial<KubernetesObject>): KubernetesObject => ({
  ...KINDS.pod,
  metadata: { name: "p", namespace: "shop" },
  ...rest,
});
const container = (cpu: string, memory: string) => ({ resources: { requests: { cpu, memory } } });
const controller = (kind: string, name: string): OwnerReference => ({
  apiVersion: "apps/v1",
  kind,
  name,
  uid: "u",
  controller: true,
});

describe("nodeView", () => {
  it("reads labels, conditions and allocatable amounts", () => {
    const view = nodeView(
      node({
        metadata: {
          name: "n",
          labels: { "topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1" },
        },
        spec: { unschedulable: true },
        status: {
          allocatable: { cpu: "1930m", memory: "4Gi" },
          conditions: [{ type: "Ready", status: "True" }],
        },
      }),
    );
    expect(view).toEqual({
      name: "n",
      zone: "z1",
      region: "r1",
      segment: null,
      provider: null,
      ready: true,
      cordoned: true,
      allocatableCpuMillicores: 1_930,
      allocatableMemoryBytes: 4_294_967_296,
    });
  });

  it("takes fields of a wrong type for absent", () => {
    const odd = node({
      status: { allocatable: { cpu: "lots", memory: {} }, conditions: "Ready" },
    });
    expect(nodeView(odd)).toMatchObject({
      ready: false,
      cordoned: false,
      allocatableCpuMillicores: null,
      allocatableMemoryBytes: null,
    });
  });
});

describe("podView", () => {
  it("reads where it is and how it does", () => {
    const view = podView(
      pod({
        metadata: {
          name: "p",
          namespace: "shop",
          deletionTimestamp: "2026-01-01T00:00:00Z",
          ownerReferences: [controller("ReplicaSet", "p-1")],
        },
        spec: { nodeName: "n" },
        status: { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
      }),
    );
    expect(view).toMatchObject({
      node: "n",
      phase: "Running",
      ip: "10.0.0.1",
      ready: true,
      terminating: true,
      finished: false,
    });
    expect(view.owner?.name).toBe("p-1");
  });

  it("sums the containers' requests, and knows no node, address or request where there is none", () => {
    expect(
      podView(pod({ spec: { containers: [container("250m", "1Gi"), container("1", "1Gi"), {}] } })),
    ).toMatchObject({
      requestsCpuMillicores: 1_250,
      requestsMemoryBytes: 2 * 1024 ** 3,
    });
    expect(podView(pod({}))).toMatchObject({
      node: null,
      ip: null,
      phase: "Unknown",
      requestsCpuMillicores: 0,
      owner: null,
    });
  });

  it("reserves the peak of an init container, sidecars beside everything, and the overhead", () => {
    const spec = {
      initContainers: [{ ...container("100m", "0"), restartPolicy: "Always" }, container("2", "0")],
      containers: [container("500m", "0")],
      overhead: { cpu: "10m" },
    };
    expect(podView(pod({ spec })).requestsCpuMillicores).toBe(2_110);
  });

  it.each(["Succeeded", "Failed"])("calls a pod finished that has %s", (phase) => {
    expect(podView(pod({ status: { phase } })).finished).toBe(true);
  });
});

describe("workloadOf", () => {
  const owned = (owner: OwnerReference, labels = {}): KubernetesObject =>
    pod({ metadata: { name: "p", namespace: "shop", labels, ownerReferences: [owner] } });
  const unknown = () => null;

  it("goes from the pod by its ReplicaSet to the Deployment", () => {
    const replicaSet = {
      ...KINDS.replicaSet,
      metadata: { name: "m0-abc", ownerReferences: [controller("Deployment", "m0")] },
    };
    const found = workloadOf(owned(controller("ReplicaSet", "m0-abc")), (namespace, name) =>
      `${namespace}/${name}` === "shop/m0-abc" ? replicaSet : null,
    );
    expect(found).toEqual({ namespace: "shop", kind: "Deployment", name: "m0" });
  });

  it("stops at a ReplicaSet without an owner", () => {
    const found = workloadOf(owned(controller("ReplicaSet", "rs"), { "pod-template-hash": "rs" }), () => ({
      ...KINDS.replicaSet,
      metadata: { name: "rs" },
    }));
    expect(found).toMatchObject({ kind: "ReplicaSet", name: "rs" });
  });

  it("recognises a Deployment's ReplicaSet that it doesn't know by the pod's hash", () => {
    expect(
      workloadOf(owned(controller("ReplicaSet", "m0-abc"), { "pod-template-hash": "abc" }), unknown),
    ).toMatchObject({ kind: "Deployment", name: "m0" });
    expect(workloadOf(owned(controller("ReplicaSet", "m0-abc")), unknown)).toMatchObject({
      kind: "ReplicaSet",
      name: "m0-abc",
    });
  });

  it.each(["StatefulSet", "DaemonSet", "Job"])("takes a %s for the workload", (kind) => {
    expect(workloadOf(owned(controller(kind, "w")), unknown)).toEqual({ namespace: "shop", kind, name: "w" });
  });

  it.each(["Node", "Pod"])(
    "takes a pod without a controller for its own workload, and one of a %s",
    (kind) => {
      expect(workloadOf(pod({}), unknown)).toEqual({ namespace: "shop", kind: "Pod", name: "p" });
      expect(workloadOf(owned(controller(kind, "other")), unknown).name).toBe("p");
    },
  );

  it.each([
    ["a scheduled Job", controller("Job", "report-28934720"), {}, "CronJob report"],
    ["a Job of an old schedule, in seconds", controller("Job", "report-1736083200"), {}, "CronJob report"],
    ["a Job with a short number", controller("Job", "load-2"), {}, "Job load-2"],
    ["a Job of a number alone", controller("Job", "28934720"), {}, "Job 28934720"],
    [
      "a Rollout's ReplicaSet that isn't known",
      controller("ReplicaSet", "web-77b"),
      { "rollouts-pod-template-hash": "77b" },
      "Rollout web",
    ],
    [
      "a DeploymentConfig's ReplicationController",
      controller("ReplicationController", "web-3"),
      { deploymentconfig: "web" },
      "DeploymentConfig web",
    ],
    ["a ReplicationController", controller("ReplicationController", "web"), {}, "ReplicationController web"],
    ["a CloneSet", controller("CloneSet", "web"), {}, "CloneSet web"],
    ["a StrimziPodSet", controller("StrimziPodSet", "kafka"), {}, "StrimziPodSet kafka"],
  ])("names the workload of %s as meshes do", (_, owner, labels, workload) => {
    const { kind, name } = workloadOf(owned(owner, labels), unknown);
    expect(`${kind} ${name}`).toBe(workload);
  });

  it.each(["Rollout", "Deployment", "MachineSet"])("goes from a ReplicaSet to its %s", (kind) => {
    const replicaSet = {
      ...KINDS.replicaSet,
      metadata: { name: "web-77b", ownerReferences: [controller(kind, "web")] },
    };
    expect(workloadOf(owned(controller("ReplicaSet", "web-77b")), () => replicaSet)).toMatchObject({
      kind,
      name: "web",
    });
  });

  it("takes equal static pods of several nodes for one workload, and different ones for several", () => {
    const mirror = (name: string, node: string) =>
      workloadOf(
        pod({ metadata: { name, namespace: "kube-system", ownerReferences: [controller("Node", node)] } }),
      );
    expect(["kube-apiserver-m1", "etcd-m1"].map((name) => mirror(name, "m1").name)).toEqual([
      "kube-apiserver",
      "etcd",
    ]);
    expect(mirror("kube-apiserver-m2.example.com", "m2.example.com")).toEqual({
      namespace: "kube-system",
      kind: "StaticPod",
      name: "kube-apiserver",
    });
  });
});

describe("matchesLabels", () => {
  it("asks for every pair of the selector, and nothing else", () => {
    expect(matchesLabels({ app: "x" }, { app: "x", tier: "1" })).toBe(true);
    expect(matchesLabels({ app: "x", tier: "2" }, { app: "x", tier: "1" })).toBe(false);
    expect(matchesLabels({ app: "x" }, undefined)).toBe(false);
    expect(matchesLabels({}, undefined)).toBe(true);
  });
});

describe("workflowOf", () => {
  const labels = {
    "isochrone.dev/workflow": "w",
    "appgroup.diktyo.x-k8s.io": "g",
    "app.kubernetes.io/part-of": "p",
  };

  it("prefers our label, then the AppGroup's, then part-of, then the namespace", () => {
    expect(workflowOf(labels, "ns")).toBe("w");
    expect(workflowOf({ ...labels, "isochrone.dev/workflow": "" }, "ns")).toBe("g");
    expect(workflowOf({ "app.kubernetes.io/part-of": "p" }, "ns")).toBe("p");
    expect(workflowOf({}, "ns")).toBe("ns");
  });
});
