import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { readJobDefinition } from "@isochrone/streams";
import { describe, expect, test } from "vitest";
import { taskPod } from "./task-pod.ts";

const CONTAINER = { name: "stage", image: "example.com/stage:1" };

function podOf(spec: object, options: { node?: string | null; isGated?: boolean } = {}): KubernetesObject {
  const job: KubernetesObject = {
    ...KINDS.streamJob,
    metadata: { namespace: "site", name: "gate", uid: "u1" },
    spec: {
      source: { node: "camera", bytesPerFrame: 1 },
      tasks: [
        {
          name: "detect",
          requests: { cpu: "2", memory: "1Gi" },
          profile: [{ secondsPerFrame: 0.1 }],
          template: { metadata: { labels: { app: "x" } }, spec },
        },
      ],
    },
  };
  const definition = readJobDefinition("site/gate", job.spec);
  const { node = "box", isGated = false } = options;
  return taskPod({ job, definition, task: "detect", node, isGated });
}

function termsOf({ spec }: KubernetesObject): unknown {
  return (spec as { affinity: { nodeAffinity: Record<string, { nodeSelectorTerms: unknown }> } }).affinity
    .nodeAffinity["requiredDuringSchedulingIgnoredDuringExecution"]!.nodeSelectorTerms;
}

describe("the pod of a task", () => {
  test("belongs to its job, has its requests and a name of its own, and may run on its node alone", () => {
    const pod = podOf({ containers: [CONTAINER, { name: "side", image: "example.com/side:1" }] });
    expect(pod).toMatchObject({
      metadata: {
        namespace: "site",
        labels: {
          app: "x",
          "isochrone.dev/stream-job": "gate",
          "isochrone.dev/stream-task": "detect",
          "isochrone.dev/stream-template": "detect",
        },
        ownerReferences: [{ kind: "StreamJob", name: "gate", uid: "u1", controller: true }],
      },
      spec: {
        hostname: "detect",
        subdomain: "gate",
        containers: [
          { ...CONTAINER, resources: { requests: { cpu: "2", memory: "1Gi" } } },
          { name: "side" },
        ],
      },
    });
    expect(termsOf(pod)).toEqual([
      { matchFields: [{ key: "metadata.name", operator: "In", values: ["box"] }] },
    ]);
    expect(pod.spec).not.toHaveProperty("schedulingGates");
  });

  test("has the same name for the same node, and another one elsewhere", () => {
    const name = (node: string): string => podOf({ containers: [CONTAINER] }, { node }).metadata.name;
    expect(name("box")).toMatch(/^gate-detect-[0-9a-f]{8}$/);
    expect(name("box")).toBe(name("box"));
    expect(name("server")).not.toBe(name("box"));
  });

  test("keeps what its template says of requests, affinity and gates", () => {
    const own = { matchExpressions: [{ key: "disk", operator: "Exists" }] };
    const pod = podOf(
      {
        containers: [{ ...CONTAINER, resources: { limits: { cpu: "4" }, requests: { cpu: "3" } } }],
        schedulingGates: [{ name: "example.com/other" }],
        affinity: {
          podAntiAffinity: { x: [] },
          nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [own, own] } },
        },
      },
      { isGated: true },
    );
    const field = { key: "metadata.name", operator: "In", values: ["box"] };
    expect(termsOf(pod)).toEqual([
      { ...own, matchFields: [field] },
      { ...own, matchFields: [field] },
    ]);
    expect(pod.spec).toMatchObject({
      containers: [{ resources: { limits: { cpu: "4" }, requests: { cpu: "3", memory: "1Gi" } } }],
      schedulingGates: [{ name: "example.com/other" }, { name: "isochrone.dev/stream" }],
      affinity: { podAntiAffinity: { x: [] } },
    });
  });
});
