import { describe, expect, test } from "vitest";
import type { ApiObject } from "../objects/json.ts";
import {
  aModel,
  aNode,
  aPod,
  HOST,
  rejections,
  spreadOver,
  ZONE,
  type Fields,
  type PodFields,
} from "../testing/objects.ts";

const WEB = { app: "web" };
const NODES = [aNode("a", "z1"), aNode("b", "z1"), aNode("c", "z2"), aNode("d")];
const web = (name: string, node?: string, fields: PodFields = {}): ApiObject =>
  aPod(name, { labels: WEB, ...(node === undefined ? {} : { node }), ...fields });
const asking = (...topologySpreadConstraints: object[]): ApiObject =>
  web("p", undefined, { spec: { topologySpreadConstraints } });

describe("PodTopologySpread", () => {
  test("the domain with the fewest, plus the skew; a node without the label is out", () => {
    const model = aModel(NODES, [web("1", "a"), web("2", "b"), web("3", "c")]);
    const expected = { a: "PodTopologySpread", b: "PodTopologySpread", c: "", d: "PodTopologySpread" };
    expect(rejections(model, asking(spreadOver(ZONE, 1, WEB)))).toEqual(expected);
    expect(rejections(model, asking(spreadOver(ZONE, 2, WEB)))).toMatchObject({ a: "", c: "" });
    expect(model.verdict(asking(spreadOver(ZONE, 2, WEB)), "d")?.message).toBe(
      "node(s) didn't match pod topology spread constraints (missing required label)",
    );
  });

  test("only DoNotSchedule filters", () => {
    const soft = spreadOver(ZONE, 1, WEB, { whenUnsatisfiable: "ScheduleAnyway" });
    expect(rejections(aModel(NODES, [web("1", "a")]), asking(soft))).toEqual({ a: "", b: "", c: "", d: "" });
  });

  test("a pod that its own constraint doesn't select adds nothing", () => {
    const model = aModel(NODES, [aPod("1", { labels: { app: "db" }, node: "a" })]);
    expect(rejections(model, asking(spreadOver(ZONE, 1, { app: "db" })))).toMatchObject({ a: "", c: "" });
  });

  test("pods of other namespaces, and those that are being deleted, don't count", () => {
    const model = aModel(NODES, [
      web("1", "a", { namespace: "other" }),
      web("2", "a", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
    ]);
    expect(rejections(model, asking(spreadOver(ZONE, 1, WEB)))).toMatchObject({ a: "", b: "", c: "" });
  });

  test("with fewer domains than minDomains the least is 0", () => {
    const model = aModel(NODES, [web("1", "a"), web("2", "c")]);
    expect(rejections(model, asking(spreadOver(ZONE, 1, WEB, { minDomains: 2 })))).toMatchObject({
      a: "",
      c: "",
    });
    const three = asking(spreadOver(ZONE, 1, WEB, { minDomains: 3 }));
    expect(rejections(model, three)).toMatchObject({ a: "PodTopologySpread", c: "PodTopologySpread" });
  });

  test("nodes that the pod can't go to count only when the policy says Ignore", () => {
    const spec = (policy: Fields): Fields => ({
      nodeSelector: { "topology.kubernetes.io/zone": "z1" },
      topologySpreadConstraints: [spreadOver(ZONE, 1, WEB, policy)],
    });
    const model = aModel(NODES, [web("1", "a")]);
    const verdict = (policy: Fields): string | undefined =>
      model.verdict(web("p", undefined, { spec: spec(policy) }), "a")?.plugin;
    // z2 is no domain, so z1 has the fewest.
    expect(verdict({})).toBeUndefined();
    expect(verdict({ nodeAffinityPolicy: "Ignore" })).toBe("PodTopologySpread");
  });

  test("tainted nodes count unless the policy says Honor", () => {
    const taints = [{ key: "k", effect: "NoSchedule" }];
    const model = aModel([aNode("a", "z1"), aNode("c", "z2", { spec: { taints } })], [web("1", "a")]);
    expect(model.verdict(asking(spreadOver(ZONE, 1, WEB)), "a")?.plugin).toBe("PodTopologySpread");
    expect(model.verdict(asking(spreadOver(ZONE, 1, WEB, { nodeTaintsPolicy: "Honor" })), "a")).toBeNull();
  });

  test("matchLabelKeys narrow to pods of the same value", () => {
    const hash = (value: string): PodFields => ({ labels: { ...WEB, hash: value } });
    const model = aModel(NODES, [web("1", "a", hash("old"))]);
    const constraint = spreadOver(ZONE, 1, WEB, { matchLabelKeys: ["hash"] });
    const pod = web("p", undefined, { ...hash("new"), spec: { topologySpreadConstraints: [constraint] } });
    expect(model.verdict(pod, "a")).toBeNull();
    model.place(web("2", "a", hash("new")), "a");
    expect(model.verdict(pod, "a")?.plugin).toBe("PodTopologySpread");
  });

  test("a selector of everything counts no placed pod, and none at all selects none", () => {
    const model = aModel(NODES, [web("1", "a"), web("2", "a")]);
    const constraint = { topologyKey: ZONE, maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" };
    expect(model.verdict(asking({ ...constraint, labelSelector: {} }), "a")).toBeNull();
    expect(model.verdict(asking(constraint), "a")).toBeNull();
  });

  test("a node takes part in all constraints of a pod or in none", () => {
    const nodes = [aNode("a", "z1", { labels: { rack: "r1" } }), aNode("c", "z2")];
    // c has no rack, so z2 is no domain, and z1 has the fewest.
    const model = aModel(nodes, [web("1", "a")]);
    expect(model.verdict(asking(spreadOver(ZONE, 1, WEB), spreadOver("rack", 1, WEB)), "a")).toBeNull();
    expect(model.verdict(asking(spreadOver(ZONE, 1, WEB)), "a")?.plugin).toBe("PodTopologySpread");
  });

  test("a nominated pod counts on its own node only", () => {
    const waiting = web("w", undefined, { status: { nominatedNodeName: "a" } });
    const model = aModel(NODES, [waiting, web("1", "c")]);
    const pod = asking(spreadOver(ZONE, 1, WEB));
    // On a: 0 placed + 1 nominated + 1 - 1 (z2). On b no pod is nominated.
    expect(rejections(model, pod)).toMatchObject({ a: "", b: "", c: "PodTopologySpread" });
    model.place(web("2", "b"), "b");
    expect(rejections(model, pod)).toMatchObject({ a: "PodTopologySpread", b: "", c: "" });
    // Per host: d has none, so a with one nominated is as full as b.
    const full = "PodTopologySpread";
    expect(rejections(model, asking(spreadOver(HOST, 1, WEB)))).toEqual({ a: full, b: full, c: full, d: "" });
  });
});
