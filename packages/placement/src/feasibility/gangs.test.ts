import { describe, expect, test } from "vitest";
import { gangOf } from "./gangs.ts";
import { aModel, aNode, aPod, rejections } from "./testing/objects.ts";

const KEYS = [
  "scheduling.x-k8s.io/pod-group",
  "pod-group.scheduling.sigs.k8s.io",
  "scheduling.k8s.io/group-name",
  "kueue.x-k8s.io/pod-group-name",
];

describe("a pod is one of a gang", () => {
  test.each([
    ["a PodGroup of Kubernetes", { schedulingGroup: { podGroupName: "g" } }, "a scheduling group"],
    ["a Workload of Kubernetes 1.35", { workloadRef: { name: "w", podGroup: "g" } }, "a Workload"],
  ])("by %s", (_, spec, words) => {
    expect(gangOf(aPod("p", { spec }))).toBe(`it belongs to ${words} (gang scheduling)`);
  });

  test.each(KEYS)("by %s, as a label or an annotation", (key) => {
    const name = "p";
    const words = `it belongs to a group (gang scheduling, ${key})`;
    const labels = { [key]: "g" };
    const labelled = { metadata: { name, labels } };
    expect(gangOf(labelled)).toBe(words);
    const annotated = { metadata: { name, annotations: labels } };
    expect(gangOf(annotated)).toBe(words);
    expect(rejections(aModel([aNode("a", "z1")]), annotated)).toEqual({ a: "Unsupported" });
  });

  test("by nothing else", () => {
    const labels = { "kueue.x-k8s.io/queue-name": "q", "scheduling.x-k8s.io/pod-group": "" };
    const annotations = { "scheduling.k8s.io/group-name": 3 };
    const none = { metadata: { name: "p", labels, annotations }, spec: { schedulingGroup: null } };
    expect(gangOf(none)).toBeNull();
    const odd = { metadata: { name: "p", labels: null, annotations: "" } };
    expect(gangOf(odd)).toBeNull();
  });
});
