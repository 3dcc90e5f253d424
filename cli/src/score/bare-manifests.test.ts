import { describe, expect, test } from "vitest";
import { DumpError } from "./errors.ts";
import { scoreDump } from "./score-dump.ts";

const NODE = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n1", labels: { zone: "a" } },
  status: {
    capacity: { cpu: "4", memory: "8Gi", pods: "110" },
    conditions: [{ type: "Ready", status: "True" }],
  },
};
const podOf = (spec: object, name = "big", labels: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace: "shop",
    labels,
  },
  spec,
});
const container = (resources: object, more: object = {}): object => ({
  name: "c",
  image: "x",
  resources,
  ...more,
});

/** Returns null if the pod fits. */
function reasonAgainst(pod: object, ...beside: object[]): string | null {
  const dumpText = [NODE, ...beside].map((object) => JSON.stringify(object, null, 1)).join("\n");
  const podText = JSON.stringify(pod, null, 1);
  const [node] = scoreDump({ dumpText, podText, strategy: "resource-network" }).nodes;
  return node!.feasible ? null : (node!.reason ?? "");
}

const CPU = "its CPU request doesn't fit";
const PORTS = "node(s) didn't have free ports for the requested pod ports";
const LIMITS = { limits: { cpu: "8", memory: "1Gi" } };
const onHost = (name: string, hostNetwork = true): object =>
  podOf(
    { nodeName: "n1", hostNetwork, containers: [container({}, { ports: [{ containerPort: 80 }] })] },
    name,
  );
const term = (labels: object): object => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: "zone", labelSelector: { matchLabels: { app: "web" } }, ...labels },
    ],
  },
});
const WEB = { app: "web", "pod-template-hash": "1" };

describe("manifests that no API server has completed are judged as if one had", () => {
  test.each<[string, object, object[], string | null]>([
    ["limits alone", podOf({ containers: [container(LIMITS)] }), [], CPU],
    [
      "limits beside smaller requests",
      podOf({ containers: [container({ ...LIMITS, requests: { cpu: 1 } })] }),
      [],
      null,
    ],
    [
      "limits of an init container",
      podOf({ initContainers: [container(LIMITS)], containers: [container({})] }),
      [],
      CPU,
    ],
    ["limits of the pod", podOf({ resources: LIMITS, containers: [container({})] }), [], CPU],
    [
      "limits of a pod that is placed",
      podOf({ containers: [container({ requests: { cpu: 3 } })] }),
      [podOf({ nodeName: "n1", containers: [container({ limits: { cpu: 2 } })] }, "other")],
      CPU,
    ],
    ["ports on the host's network", onHost("new"), [onHost("old")], PORTS],
    ["ports of pods' own networks", onHost("new", false), [onHost("old", false)], null],
    [
      "a LimitRange of the namespace",
      podOf({ containers: [container({})] }),
      [
        {
          apiVersion: "v1",
          kind: "LimitRange",
          metadata: {
            name: "l",
            namespace: "shop",
          },
          spec: {
            limits: [
              {
                type: "Container",
                defaultRequest: { cpu: "5" },
              },
            ],
          },
        },
      ],
      CPU,
    ],
    [
      "label keys of affinity: pods of another template don't count",
      podOf(
        { affinity: term({ matchLabelKeys: ["pod-template-hash"] }), containers: [container({})] },
        "new",
        WEB,
      ),
      [podOf({ nodeName: "n1", containers: [container({})] }, "old", { ...WEB, "pod-template-hash": "0" })],
      null,
    ],
    [
      "label keys that the pod doesn't have",
      podOf(
        { affinity: term({ matchLabelKeys: ["pod-template-hash"] }), containers: [container({})] },
        "new",
        {
          app: "web",
        },
      ),
      [podOf({ nodeName: "n1", containers: [container({})] }, "old", WEB)],
      "node(s) didn't match pod anti-affinity rules",
    ],
  ])("%s", (_, pod, beside, reason) => {
    expect(reasonAgainst(pod, ...beside)).toBe(reason);
  });

  test.each([
    [{ requests: { cpu: "8 cores" } }, "requests.cpu", '"8 cores"'],
    [{ limits: { memory: "64 Gi" } }, "limits.memory", '"64 Gi"'],
    [{ requests: { cpu: -1 } }, "requests.cpu", "-1"],
  ])("but not with a quantity that can't be read: %j", (resources, path, value) => {
    const pod = podOf({ containers: [container(resources)] });
    const problem = `Pod shop/big: spec.containers.0.resources.${path} must be a quantity of 0 or more, such as 500m or 64Gi, got ${value}`;
    for (const [asked, ...beside] of [[pod], [podOf({ containers: [] }, "other"), pod]]) {
      expect(() => reasonAgainst(asked!, ...beside)).toThrow(DumpError);
      expect(() => reasonAgainst(asked!, ...beside)).toThrow(problem);
      expect(() => reasonAgainst(asked!, ...beside)).toThrow(/line \d+: Pod/);
    }
  });
});
