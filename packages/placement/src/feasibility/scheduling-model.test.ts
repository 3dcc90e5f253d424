import { array, assert, boolean, constantFrom, nat, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApiObject } from "./objects/json.ts";
import {
  aModel,
  aNode,
  aPod,
  HOST,
  near,
  rejections,
  required,
  spreadOver,
  ZONE,
} from "./testing/objects.ts";

const NODES = [aNode("a", "z1"), aNode("b", "z1"), aNode("c", "z2")];

describe("nominations", () => {
  const full = { requests: { cpu: "4" } };
  const waiting = (priority: number): ApiObject =>
    aPod("w", {
      ...full,
      spec: { priority, containers: containers("4") },
      status: { nominatedNodeName: "a" },
    });
  const asking = (priority?: number): ApiObject =>
    aPod("p", { spec: { ...(priority === undefined ? {} : { priority }), containers: containers("1") } });

  test("hold the place against pods of equal or lower priority", () => {
    const model = aModel(NODES, [waiting(0)]);
    expect(rejections(model, asking())).toEqual({ a: "NodeResourcesFit", b: "", c: "" });
    expect(rejections(model, asking(1))).toEqual({ a: "", b: "", c: "" });
  });

  test("don't stand in the way of the pod itself", () => {
    expect(rejections(aModel(NODES, [waiting(0)]), waiting(0))).toEqual({ a: "", b: "", c: "" });
  });

  test("end when the pod is placed, removed, or is being deleted", () => {
    const model = aModel(NODES, [waiting(0)]);
    model.place(waiting(0), "b");
    expect(rejections(model, asking())).toEqual({ a: "", b: "NodeResourcesFit", c: "" });
    expect(model.remove("default/w")).toBe(true);
    expect(model.remove("default/w")).toBe(false);
    expect(rejections(model, asking())).toEqual({ a: "", b: "", c: "" });
    model.nominate(waiting(0), "c");
    expect(rejections(model, asking())).toMatchObject({ c: "NodeResourcesFit" });
    const going = waiting(0);
    Object.assign(going.metadata, { deletionTimestamp: "2026-01-01T00:00:00Z" });
    model.observe(going);
    expect(rejections(model, asking())).toEqual({ a: "", b: "", c: "" });
  });
});

describe("observing pods", () => {
  const big = (fields: object = {}): ApiObject => aPod("big", { requests: { cpu: "4" }, ...fields });
  const small = aPod("small", { requests: { cpu: "1" } });

  test("waiting, nominated, bound, finished", () => {
    const model = aModel(NODES);
    const after = (pod: ApiObject): string | undefined => {
      model.observe(pod);
      return model.verdict(small, "a")?.plugin;
    };
    expect(after(big())).toBeUndefined();
    expect(after(big({ status: { nominatedNodeName: "a" } }))).toBe("NodeResourcesFit");
    expect(after(big({ node: "a" }))).toBe("NodeResourcesFit");
    expect(after(big({ node: "a", status: { phase: "Succeeded" } }))).toBeUndefined();
    expect(after(big({ node: "gone" }))).toBeUndefined();
  });

  test("a node that isn't known is no place", () => {
    expect(() => aModel(NODES).place(small, "x")).toThrow("node x is not known");
    expect(() => aModel(NODES).nominate(small, "x")).toThrow("node x is not known");
  });
});

describe("nodes that are no target", () => {
  test.each([
    [{}, null],
    [{ spec: { unschedulable: true } }, "it is cordoned"],
    [{ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }, "it is being deleted"],
    [{ conditions: [{ type: "Ready", status: "Unknown" }] }, "it is not Ready"],
    [{ conditions: [] }, "it is not Ready"],
    [
      { spec: { taints: [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }] } },
      "it is about to be removed (taint karpenter.sh/disrupted)",
    ],
  ])("%j", (fields, reason) => {
    expect(aModel([aNode("n", null, fields)]).node("n")!.noTarget).toBe(reason);
  });

  test.each([
    [{}, true],
    [{ spec: { unschedulable: true } }, true],
    [{ conditions: [] }, false],
    [{ spec: { unschedulable: true }, conditions: [{ type: "Ready", status: "Unknown" }] }, false],
  ])("%j: whether it is ready is told apart", (fields, isReady) => {
    expect(aModel([aNode("n", null, fields)]).node("n")!.isReady).toBe(isReady);
  });
});

test("a model that has seen more than a thousand kinds of pods says the same", () => {
  const loner = aPod("loner", { node: "a", spec: required("podAntiAffinity", near(HOST, { app: "web" })) });
  const model = aModel(NODES, [loner]);
  const web = (name: string): ApiObject =>
    aPod(name, {
      labels: { app: "web", name },
      spec: { topologySpreadConstraints: [spreadOver(ZONE, 1, { app: "web" })] },
    });
  for (let index = 0; index < 1_100; index++) {
    const pod = web(`p${index}`);
    expect(model.verdict(pod, "b")).toBeNull();
    model.place(pod, "b");
    expect(rejections(model, web("next"))).toEqual({ a: "PodTopologySpread", b: "PodTopologySpread", c: "" });
    model.remove(`default/p${index}`);
  }
  expect(rejections(model, web("last"))).toEqual({ a: "InterPodAffinity", b: "", c: "" });
});

describe("pods that come and go", () => {
  const apps = ["a", "b"];
  const podOf = record({
    app: constantFrom(...apps),
    about: constantFrom(...apps),
    rule: constantFrom("none", "spread", "affinity", "anti"),
    key: constantFrom(HOST, ZONE),
    node: constantFrom("a", "b", "c"),
    cpu: constantFrom("0", "500m", "2"),
    nominated: boolean(),
    terminating: boolean(),
  });
  const specs: Record<string, (key: string, about: string) => object> = {
    none: () => ({}),
    spread: (key, about) => ({ topologySpreadConstraints: [spreadOver(key, 1, { app: about })] }),
    affinity: (key, about) => required("podAffinity", near(key, { app: about })),
    anti: (key, about) => required("podAntiAffinity", near(key, { app: about })),
  };

  test("leave a model that is like a new one", () => {
    assert(
      property(array(podOf, { maxLength: 12 }), array(nat(), { maxLength: 8 }), (made, gone) => {
        const pods = made.map(({ app, about, rule, key, node, cpu, nominated, terminating }, index) =>
          aPod(`p${index}`, {
            labels: { app },
            requests: { cpu },
            spec: { ...specs[rule]!(key, about), ...(nominated ? {} : { nodeName: node }) },
            status: nominated ? { nominatedNodeName: node } : {},
            metadata: terminating ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {},
          }),
        );
        const asking = pods.map((pod, index) => {
          const { nodeName: _, ...spec } = pod.spec as Record<string, unknown>;
          return { metadata: { ...pod.metadata, name: `q${index}`, uid: `q${index}` }, spec };
        });
        const model = aModel(NODES);
        // Asked before any pod exists, so that counts are updated rather than built.
        for (const pod of asking) rejections(model, pod);
        for (const pod of pods) model.observe(pod);
        const left = new Set(pods);
        for (const index of gone) {
          const pod = pods[index % pods.length];
          if (pod === undefined) continue;
          model.remove(`default/${pod.metadata.name}`);
          left.delete(pod);
        }
        model.without([...left].map(({ metadata }) => `default/${metadata.name}`))();
        const fresh = aModel(NODES, [...left]);
        for (const pod of asking) expect(rejections(model, pod)).toEqual(rejections(fresh, pod));
      }),
      { numRuns: 200 },
    );
  });
});

function containers(cpu: string): object[] {
  return [{ name: "main", resources: { requests: { cpu } } }];
}
