import { describe, expect, test } from "vitest";
import { aModel, aNode, aPod, rejections } from "../testing/objects.ts";

const taint = (key: string, effect: string, value = ""): object => ({ key, effect, value });

describe("NodeName, NodeUnschedulable, NodeAffinity", () => {
  const model = aModel([
    aNode("a", "z1", { labels: { disk: "ssd" } }),
    aNode("b", "z2", { labels: { disk: "hdd" } }),
    aNode("c", "z2", { spec: { unschedulable: true } }),
  ]);

  test("a plain pod goes anywhere but to a cordoned node", () => {
    expect(rejections(model, aPod("p"))).toEqual({ a: "", b: "", c: "NodeUnschedulable" });
    expect(model.verdict(aPod("p"), "c")).toEqual({
      plugin: "NodeUnschedulable",
      message: "node(s) were unschedulable",
    });
  });

  test("a node that isn't known", () => {
    expect(model.verdict(aPod("p"), "x")).toEqual({ plugin: "NodeName", message: "node x is not known" });
  });

  test("tolerating the cordon's taint is enough", () => {
    const tolerations = [{ key: "node.kubernetes.io/unschedulable", operator: "Exists" }];
    expect(rejections(model, aPod("p", { spec: { tolerations } }))).toEqual({ a: "", b: "", c: "" });
  });

  test("a pod that names its node", () => {
    expect(rejections(model, aPod("p", { spec: { nodeName: "b" } }))).toMatchObject({ a: "NodeName", b: "" });
  });

  test("nodeSelector and node affinity, both", () => {
    const zone2 = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values: ["z2"] }] },
          ],
        },
      },
    };
    const [ssd, hdd] = [{ disk: "ssd" }, { disk: "hdd" }];
    expect(rejections(model, aPod("p", { spec: { nodeSelector: ssd } }))).toMatchObject({
      a: "",
      b: "NodeAffinity",
    });
    expect(rejections(model, aPod("q", { spec: { affinity: zone2 } }))).toMatchObject({
      a: "NodeAffinity",
      b: "",
    });
    expect(rejections(model, aPod("r", { spec: { affinity: zone2, nodeSelector: ssd } }))).toMatchObject({
      a: "NodeAffinity",
      b: "NodeAffinity",
    });
    expect(rejections(model, aPod("s", { spec: { affinity: zone2, nodeSelector: hdd } }))).toMatchObject({
      b: "",
    });
  });
});

describe("TaintToleration", () => {
  const model = aModel([
    aNode("team", null, { spec: { taints: [taint("dedicated", "NoSchedule", "a")] } }),
    aNode("gone", null, { spec: { taints: [taint("node.kubernetes.io/unreachable", "NoExecute")] } }),
    aNode("slow", null, { spec: { taints: [taint("slow", "PreferNoSchedule")] } }),
  ]);

  test.each([
    [[], { team: "TaintToleration", gone: "TaintToleration", slow: "" }],
    [[{ key: "dedicated", value: "a" }], { team: "" }],
    [[{ key: "dedicated", operator: "Equal", value: "b" }], { team: "TaintToleration" }],
    [[{ key: "dedicated", operator: "Exists", effect: "NoSchedule" }], { team: "", gone: "TaintToleration" }],
    [[{ key: "dedicated", operator: "Exists", effect: "NoExecute" }], { team: "TaintToleration" }],
    [[{ operator: "Exists", effect: "NoExecute" }], { team: "TaintToleration", gone: "" }],
    [[{ operator: "Exists" }], { team: "", gone: "", slow: "" }],
    [[{ key: "dedicated", operator: "Odd", value: "a" }], { team: "TaintToleration" }],
  ])("tolerations %j", (tolerations, expected) => {
    expect(rejections(model, aPod("p", { spec: { tolerations } }))).toMatchObject(expected);
  });
});
