import { isDeepStrictEqual } from "node:util";
import { hasCondition, KINDS, PLACEMENT_GATE } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { expect, test } from "vitest";
import { isUnschedulable, placementOf, trimmedPod } from "../adapters/observed-pod.ts";
import { plannerPod } from "../planner/adapters/planner-pods.ts";
import { movablePod } from "./movable-pods.ts";

const POD: KubernetesObject = {
  ...KINDS.pod,
  metadata: {
    namespace: "shop",
    name: "web-1",
    uid: "u1",
    resourceVersion: "7",
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { app: "web" },
    annotations: {
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
      "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    },
    ownerReferences: [
      { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "r1", controller: true },
    ],
  },
  spec: {
    nodeName: "n1",
    schedulerName: "default-scheduler",
    priority: 5,
    nodeSelector: { zone: "a" },
    tolerations: [{ operator: "Exists" }],
    affinity: { nodeAffinity: {}, podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [] } },
    volumes: [
      { name: "d", persistentVolumeClaim: { claimName: "d" } },
      { name: "t", emptyDir: {} },
    ],
    containers: [
      {
        name: "main",
        image: "registry/large",
        env: [{ name: "A", value: "b" }],
        resources: { requests: { cpu: "100m" }, limits: { cpu: "1" } },
        ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 81 }],
      },
    ],
    initContainers: [{ name: "proxy", restartPolicy: "Always", command: ["x"], resources: {} }],
  },
  status: {
    phase: "Running",
    podIP: "10.0.0.1",
    conditions: [
      { type: "PodScheduled", status: "True", lastTransitionTime: "2026-01-01T00:00:05Z" },
      { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:09Z" },
      { type: "Initialized", status: "True" },
    ],
    containerStatuses: [{ name: "main" }],
  },
};

function lostIn(whole: unknown, part: unknown, path = "pod"): string[] {
  if (Array.isArray(part)) {
    const entries = Array.isArray(whole) ? (whole as unknown[]) : [];
    if (path.endsWith("ontainers"))
      return part.flatMap((entry, index) => lostIn(entries[index], entry, `${path}.${index}`));
    return part.every((entry) => entries.some((other) => isDeepStrictEqual(other, entry))) ? [] : [path];
  }
  if (typeof part !== "object" || part === null) return Object.is(part, whole) ? [] : [path];
  const fields = (whole ?? {}) as Record<string, unknown>;
  return Object.entries(part).flatMap(([name, value]) => lostIn(fields[name], value, `${path}.${name}`));
}

test("the other parts find in it all that they keep when no pods are moved", () => {
  const kept = movablePod(POD);
  expect(lostIn(kept, plannerPod(POD))).toEqual([]);
  expect(lostIn(kept, trimmedPod(POD))).toEqual([]);
  expect(lostIn(plannerPod(POD), kept)).toContain("pod.spec.nodeSelector.zone");
  expect(placementOf(kept)).toEqual(placementOf(POD));
  const waiting = {
    ...POD,
    status: { conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }] },
  };
  expect([isUnschedulable(movablePod(waiting)), isUnschedulable(waiting)]).toEqual([true, true]);
});

test("it says where the pod may run and whether it may be moved, and not what its containers do", () => {
  const { metadata, spec = {}, status = {} } = movablePod(POD);
  expect(metadata.annotations).toEqual({ "cluster-autoscaler.kubernetes.io/safe-to-evict": "false" });
  expect(spec).toMatchObject({ nodeSelector: { zone: "a" }, tolerations: [{ operator: "Exists" }] });
  expect(spec["volumes"]).toEqual(POD.spec!["volumes"]);
  expect(spec["containers"]).toEqual([
    {
      name: "main",
      resources: { requests: { cpu: "100m" }, limits: { cpu: "1" } },
      ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 81 }],
    },
  ]);
  expect(spec["initContainers"]).toEqual([{ name: "proxy", restartPolicy: "Always", resources: {} }]);
  expect(hasCondition(movablePod(POD), "Ready")).toBe(true);
  expect(Object.keys(status).toSorted()).toEqual(["conditions", "phase"]);
});

test("a gated pod stays whole: it is planned by its own spec", () => {
  const gated = { ...POD, spec: { ...POD.spec, schedulingGates: [{ name: PLACEMENT_GATE }] } };
  expect(movablePod(gated)).toBe(gated);
});
