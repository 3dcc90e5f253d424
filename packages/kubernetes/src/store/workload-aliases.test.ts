import { describe, expect, it } from "vitest";
import { KINDS, type ObjectMeta } from "../kinds.ts";
import { meshNames, podAliases, templateAliases } from "./workload-aliases.ts";
import { workloadOf } from "./workloads.ts";

const ISTIO_NAME = "service.istio.io/workload-name";

function podOf(kind: string, owner: string, more: Partial<ObjectMeta> = {}) {
  return {
    ...KINDS.pod,
    metadata: {
      name: `${owner}-x`,
      generateName: `${owner}-`,
      namespace: "shop",
      ownerReferences: [{ apiVersion: "v1", kind, name: owner, uid: "u", controller: true }],
      ...more,
    },
  };
}

function aliasesOf(pod: ReturnType<typeof podOf>) {
  const { workload, service } = podAliases(pod, workloadOf(pod)) ?? { workload: [], service: [] };
  return [workload, service];
}

describe("other names of a pod's workload", () => {
  it.each([
    ["of a Deployment: none", podOf("ReplicaSet", "web-1", { labels: { "pod-template-hash": "1" } }), [], []],
    ["of a StatefulSet: none", podOf("StatefulSet", "db"), [], []],
    ["of a static pod: none", podOf("Node", "n1", { name: "etcd-n1" }), [], []],
    [
      "of a Rollout: its ReplicaSet",
      podOf("ReplicaSet", "web-1", { labels: { "rollouts-pod-template-hash": "1" } }),
      ["web-1"],
      [],
    ],
    ["of a CronJob: its Job", podOf("Job", "report-28934720"), ["report-28934720"], []],
    ["of a Job with a number: as OpenTelemetry shortens it", podOf("Job", "load-2"), [], ["load"]],
    [
      "of a DeploymentConfig: its ReplicationController",
      podOf("ReplicationController", "web-3", { labels: { deploymentconfig: "web" } }),
      ["web-3"],
      [],
    ],
    [
      "the one that Istio lets users set",
      podOf("StatefulSet", "db", { labels: { [ISTIO_NAME]: "s" } }),
      ["s"],
      [],
    ],
    [
      "those of its services",
      podOf("StatefulSet", "db", {
        labels: {
          app: "a",
          "app.kubernetes.io/name": "b",
          "service.istio.io/canonical-name": "c",
          "k8s-app": "db",
        },
        annotations: { "resource.opentelemetry.io/service.name": "d" },
      }),
      [],
      ["d", "c", "b", "a"],
    ],
    [
      "each once, and never its own",
      podOf("StatefulSet", "db", { labels: { app: "db", "k8s-app": "db" } }),
      [],
      [],
    ],
  ])("%s", (_, pod, workload, service) => {
    expect(aliasesOf(pod)).toEqual([workload, service]);
  });

  it("come from the pod template where there is no pod", () => {
    const labels = { [ISTIO_NAME]: "warehouse", app: "stock" };
    const workload = {
      ...KINDS.deployment,
      metadata: { name: "stock", namespace: "shop" },
      spec: { template: { metadata: { labels } } },
    };
    expect(templateAliases(workload)).toEqual({ workload: ["warehouse"], service: [] });
    expect(templateAliases({ ...workload, spec: {} })).toBeNull();
  });
});

describe("names that a mesh may give", () => {
  it("have the pod's own where its controller has chosen it", () => {
    const named = podOf("StrimziPodSet", "kafka", { name: "kafka-0", generateName: "" });
    expect(meshNames(named)).toEqual(["kafka", "kafka-0"]);
    expect(meshNames(podOf("StatefulSet", "kafka"))).toEqual(["kafka"]);
  });
});
