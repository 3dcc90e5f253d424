import { describe, expect, test } from "vitest";
import type { ApiObject } from "./objects/json.ts";
import { inQueueOrder } from "./queue-order.ts";
import type { SchedulingModel } from "./scheduling-model.ts";
import {
  aModel,
  aNode,
  aPod,
  near,
  rejections,
  required,
  spreadOver,
  ZONE,
  type Fields,
} from "./testing/objects.ts";

const NODES = [aNode("a", "z1"), aNode("b", "z1"), aNode("c", "z2")];
const WEB = { app: "web" };
const spread = { topologySpreadConstraints: [spreadOver(ZONE, 1, WEB)] };
const web = (name: string, spec: Fields = {}): ApiObject => aPod(name, { labels: WEB, spec });
const order = (
  model: SchedulingModel,
  pods: ApiObject[],
  ...nodes: number[]
): ReturnType<typeof inQueueOrder> => inQueueOrder({ model, pods, assignment: Int32Array.from(nodes) });
const rejected = ({ steps }: ReturnType<typeof inQueueOrder>): (string | undefined)[] =>
  steps.map(({ rejection }) => rejection?.plugin);

describe("kube-scheduler takes one pod after the other", () => {
  test("replicas change places where the rule would not hold half way", () => {
    const pods = ["1", "2", "3", "4"].map((name) => web(name, spread));
    const { assignment, steps } = order(aModel(NODES), pods, 0, 1, 2, 2);
    // No zone gets its second pod before the other has one.
    expect(assignment.toSorted()).toEqual(Int32Array.of(0, 1, 2, 2));
    expect(assignment[0] === 2).not.toBe(assignment[1] === 2);
    expect(steps.map(({ pod, rejection }) => [pod, rejection])).toEqual(
      [0, 1, 2, 3].map((pod) => [pod, null]),
    );
  });

  test("a node that is nominated to later pods must wait for those before", () => {
    const pods = ["1", "2", "3", "4"].map((name) => web(name, spread));
    const { steps } = order(aModel(NODES), pods, 0, 2, 0, 2);
    // The third is nominated to a when the first comes there: 2 in z1, 0 in z2. Then z1 has 1, and c 1
    // nominated: 1 + 1 - 1.
    expect(steps.map(({ before }) => before)).toEqual([true, false, false, false]);
  });

  test("pods keep their nodes where that does", () => {
    const pods = ["1", "2", "3"].map((name) => web(name));
    expect([...order(aModel(NODES), pods, 2, 0, 1).assignment]).toEqual([2, 0, 1]);
  });

  test("only pods of one kind change places", () => {
    const pods = [
      web("1", spread),
      web("2", spread),
      aPod("3", { labels: WEB, spec: spread, requests: { cpu: "1" } }),
    ];
    const result = order(aModel(NODES), pods, 0, 0, 2);
    expect([...result.assignment]).toEqual([0, 0, 2]);
    // The second pod would be the second in z1 while z2 is empty.
    expect(rejected(result)).toEqual([undefined, "PodTopologySpread", undefined]);
  });

  test("higher priority first, then the older", () => {
    const pods = [web("1"), web("2", { priority: 5 }), web("3", { priority: 5 }), web("4")];
    const { steps } = order(aModel(NODES), pods, 0, 1, 2, -1);
    expect(steps.map(({ pod, node }) => [pod, node])).toEqual([
      [1, 1],
      [2, 2],
      [0, 0],
    ]);
  });

  test("one that comes before those it wants to be with isn't admitted", () => {
    const close = (name: string): ApiObject => aPod(name, { spec: required("podAffinity", near(ZONE, WEB)) });
    const model = aModel(NODES);
    expect(rejected(order(model, [close("1"), web("2")], 0, 1))).toEqual(["InterPodAffinity", undefined]);
    expect(rejected(order(model, [web("2"), close("1")], 1, 0))).toEqual([undefined, undefined]);
  });

  test("a search looks ahead", () => {
    const nodes = [
      aNode("a", "z1", { allocatable: { cpu: "1" } }),
      aNode("b", "z2", { allocatable: { cpu: "2" } }),
    ];
    const pods = ["1", "2", "3"].map((name) =>
      aPod(name, { labels: WEB, requests: { cpu: "1" }, spec: spread }),
    );
    const { assignment, steps } = order(aModel(nodes), pods, 1, 1, 0);
    expect(steps.every(({ rejection }) => rejection === null)).toBe(true);
    expect(assignment.toSorted()).toEqual(Int32Array.of(0, 1, 1));
  });

  test("the model is the same afterwards", () => {
    const waiting = aPod("w", { requests: { cpu: "4" }, status: { nominatedNodeName: "a" } });
    const model = aModel(NODES, [waiting]);
    const asking = aPod("x", { requests: { cpu: "1" } });
    order(model, [waiting], 2);
    expect(rejections(model, asking)).toEqual({ a: "NodeResourcesFit", b: "", c: "" });
  });
});
