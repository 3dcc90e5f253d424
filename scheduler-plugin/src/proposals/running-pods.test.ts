import { PLACEMENT_GATE } from "@isochrone/kubernetes";
import { expect, test } from "vitest";
import { runningPod } from "./running-pods.ts";

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace: "shop", name: "p-1", labels: { app: "p" }, annotations: { long: "text" } },
  spec: {
    nodeName: "n1",
    nodeSelector: { disk: "ssd" },
    tolerations: [{ key: "gpu", operator: "Exists" }],
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } },
    topologySpreadConstraints: [{ maxSkew: 1 }],
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "data" } },
      { name: "disk", awsElasticBlockStore: { volumeID: "v" } },
      { name: "token", projected: { sources: [] } },
    ],
    containers: [
      { name: "main", image: "shop", env: [{ name: "A" }], resources: { requests: { cpu: "1" } } },
    ],
  },
  status: { phase: "Running", containerStatuses: [{}] },
};

test("keeps what says where the pod may run, and nothing that is anywhere", () => {
  const { metadata, spec, status } = runningPod(POD);
  const { nodeName, nodeSelector, tolerations, affinity, topologySpreadConstraints, volumes } = POD.spec;
  expect(metadata).toEqual({ namespace: "shop", name: "p-1", labels: { app: "p" } });
  expect(spec).toEqual({
    nodeName,
    nodeSelector,
    tolerations,
    affinity,
    topologySpreadConstraints,
    volumes: volumes.slice(0, 2),
    containers: [{ resources: { requests: { cpu: "1" } } }],
  });
  expect(status).toEqual({ phase: "Running", conditions: [] });
});

test("keeps the gang that a pod belongs to", () => {
  const annotations = { long: "text", "scheduling.k8s.io/group-name": "g" };
  const schedulingGroup = { podGroupName: "g" };
  const member = {
    ...POD,
    metadata: { ...POD.metadata, annotations },
    spec: { ...POD.spec, schedulingGroup },
  };
  const { metadata, spec } = runningPod(member);
  expect(metadata.annotations).toEqual({ "scheduling.k8s.io/group-name": "g" });
  expect(spec).toMatchObject({ schedulingGroup });
});

test("a gated pod stays whole", () => {
  const gated = { ...POD, spec: { ...POD.spec, schedulingGates: [{ name: PLACEMENT_GATE }] } };
  expect(runningPod(gated)).toBe(gated);
});
