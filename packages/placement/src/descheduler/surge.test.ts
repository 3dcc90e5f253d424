import { describe, expect, it } from "vitest";
import type { ClusterObject } from "./cluster-object.ts";
import { canSurge } from "./surge.ts";

const podOf = (spec: ClusterObject["spec"] = {}, ownerKind = "ReplicaSet"): ClusterObject => ({
  metadata: {
    name: "web-1",
    labels: { app: "web", "pod-template-hash": "1" },
    ownerReferences: [{ kind: ownerKind, name: "web", controller: true }],
  },
  spec,
});
const workloadOf = (strategy?: unknown, kind = "Deployment"): ClusterObject => ({
  kind,
  metadata: { name: "web" },
  spec: strategy === undefined ? {} : { strategy },
});
const rolling = (maxSurge?: unknown): unknown => ({
  type: "RollingUpdate",
  rollingUpdate: maxSurge === undefined ? {} : { maxSurge },
});
const antiAffinity = (topologyKey: string): ClusterObject["spec"] => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey }] } },
});
const spread = (whenUnsatisfiable?: string): ClusterObject["spec"] => ({
  topologySpreadConstraints: [{ topologyKey: "kubernetes.io/hostname", whenUnsatisfiable }],
});

describe("a pod is replaced before it goes", () => {
  it.each([
    ["the API server's defaults", podOf(), workloadOf()],
    ["RollingUpdate without figures", podOf(), workloadOf(rolling())],
    ["one pod more", podOf(), workloadOf(rolling(1))],
    ["1 %, rounded up", podOf(), workloadOf(rolling("1%"))],
    ["no two on a node", podOf(antiAffinity("kubernetes.io/hostname")), workloadOf()],
    ["spread that is a preference", podOf(spread("ScheduleAnyway")), workloadOf()],
    ["volumes without claims", podOf({ volumes: [{ name: "tmp", emptyDir: {} }] }), workloadOf()],
  ])("with %s", (_, pod, workload) => expect(canSurge({ pod, workload })).toBe(true));

  it.each([
    ["Recreate", podOf(), workloadOf({ type: "Recreate" })],
    ["maxSurge 0", podOf(), workloadOf(rolling(0))],
    ["maxSurge 0 %", podOf(), workloadOf(rolling("0%"))],
    ["maxSurge that can't be read", podOf(), workloadOf(rolling("some"))],
    ["a StatefulSet", podOf({}, "StatefulSet"), workloadOf(undefined, "StatefulSet")],
    ["a bare ReplicaSet", podOf(), workloadOf(undefined, "ReplicaSet")],
    ["an unknown workload", podOf(), null],
    ["a pod that is released already", podOf({}, "Deployment"), workloadOf()],
    ["a claim", podOf({ volumes: [{ persistentVolumeClaim: { claimName: "a" } }] }), workloadOf()],
    ["an ephemeral claim", podOf({ volumes: [{ ephemeral: {} }] }), workloadOf()],
    ["no two in a zone", podOf(antiAffinity("topology.kubernetes.io/zone")), workloadOf()],
    ["spread that is a rule", podOf(spread()), workloadOf()],
  ])("not with %s", (_, pod, workload) => expect(canSurge({ pod, workload })).toBe(false));
});
