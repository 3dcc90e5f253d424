import { describe, expect, test } from "vitest";
import type { ApiObject } from "../objects/json.ts";
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
  type Fields,
} from "../testing/objects.ts";
import { allowedNodes, problemOf } from "../testing/plans.ts";

const NODES = [aNode("a", "z1"), aNode("b", "z1"), aNode("c", "z2"), aNode("d")];
const amountsOf = (resources: readonly string[], amounts: Float64Array): Record<string, number> =>
  Object.fromEntries(resources.map((name, index) => [name, amounts[index]!]));

describe("what nodes have and pods need", () => {
  test("by resource, pods included; nominations of others are taken off", () => {
    const model = aModel(NODES, [
      aPod("placed", { node: "a", requests: { cpu: "1", memory: "1Gi" } }),
      aPod("low", { requests: { cpu: "1" }, spec: { priority: -1, ...container("1") }, status: on("b") }),
      aPod("high", { spec: { priority: 5, ...container("2") }, status: on("b") }),
    ]);
    const pods = [aPod("p", { requests: { cpu: "500m", "example.com/gpu": "1" } }), aPod("q")];
    const { resources, nodes, pods: planned } = problemOf(model, pods);
    expect(resources).toEqual(["cpu", "example.com/gpu", "pods"]);
    expect(amountsOf(resources, planned[0]!.demand)).toEqual({ cpu: 500, "example.com/gpu": 1, pods: 1 });
    expect(amountsOf(resources, planned[1]!.demand)).toEqual({ cpu: 0, "example.com/gpu": 0, pods: 1 });
    expect(amountsOf(resources, nodes[0]!.allocatable)).toEqual({
      cpu: 4000,
      "example.com/gpu": 0,
      pods: 110,
    });
    expect(amountsOf(resources, nodes[0]!.free)).toEqual({ cpu: 3000, "example.com/gpu": 0, pods: 109 });
    expect(amountsOf(resources, nodes[1]!.free)).toEqual({ cpu: 2000, "example.com/gpu": 0, pods: 109 });
    expect(nodes[2]).toMatchObject({ name: "c", zone: "z2", region: null });
  });

  test("a planned pod that runs already has its own place, which isn't free", () => {
    const running = aPod("p", { node: "b", requests: { cpu: "1" } });
    const model = aModel(NODES, [running]);
    const { nodes, pods, resources } = problemOf(model, [running]);
    expect(pods[0]!.current).toBe(1);
    expect(amountsOf(resources, nodes[1]!.free)).toEqual({ cpu: 3000, pods: 109 });
    expect(pods[0]!.allowed).toBeNull();
  });

  test("the model is the same afterwards", () => {
    const pods = [
      aPod("p", { node: "b", requests: { cpu: "3" } }),
      aPod("q", { status: on("c"), requests: { cpu: "3" } }),
    ];
    const model = aModel(NODES, pods);
    const asking = aPod("x", { requests: { cpu: "2" } });
    const before = rejections(model, asking);
    problemOf(model, pods);
    expect(rejections(model, asking)).toEqual(before);
    expect(before).toEqual({ a: "", b: "NodeResourcesFit", c: "NodeResourcesFit", d: "" });
  });

  test("workloads are called as the graph calls them", () => {
    const metadata = { labels: { "pod-template-hash": "5f" } };
    const pods = [aPod("p", { owner: "web-5f", metadata }), aPod("q", { owner: "db-5f", metadata })];
    const { pods: planned } = problemOf(aModel(NODES), pods, {}, ["web"]);
    expect(planned.map(({ workload }) => workload)).toEqual(["web", null]);
    const workloadOf = (pod: ApiObject): string => pod.metadata.name.toUpperCase();
    expect(problemOf(aModel(NODES), pods, { workloadOf }).pods[0]!.workload).toBe("P");
  });
});

describe("nodes that a pod may go to", () => {
  test("not where it is filtered by itself, nor to a node that is about to go, even if it tolerates that", () => {
    const nodes = [...NODES, aNode("e", "z2", { spec: { unschedulable: true } })];
    const tolerations = [{ operator: "Exists" }];
    const spec = { tolerations, nodeSelector: { "topology.kubernetes.io/zone": "z2" } };
    expect(allowedNodes(problemOf(aModel(nodes), [aPod("p", { spec })]))).toEqual(["c"]);
  });

  test("not where placed pods take its ports, or one of them and it must be apart", () => {
    const model = aModel(NODES, [
      aPod("port", { node: "a", spec: { containers: [{ ports: [{ hostPort: 80 }] }] } }),
      aPod("web", { node: "c", labels: { app: "web" } }),
      aPod("loner", { node: "d", spec: required("podAntiAffinity", near(HOST, { app: "p" })) }),
    ]);
    const spec = {
      containers: [{ name: "main", ports: [{ hostPort: 80 }] }],
      ...required("podAntiAffinity", near(ZONE, { app: "web" })),
    };
    expect(allowedNodes(problemOf(model, [aPod("p", { labels: { app: "p" }, spec })]))).toEqual(["b"]);
  });

  test("where those are that it wants to be with, unless these are planned too", () => {
    const web = aPod("web", { spec: required("podAffinity", near(ZONE, { app: "db" })) });
    const model = aModel(NODES, [aPod("db", { node: "c", labels: { app: "db" } })]);
    expect(allowedNodes(problemOf(model, [web]))).toEqual(["c"]);
    const problem = problemOf(model, [web, aPod("db2", { labels: { app: "db" } })]);
    expect(allowedNodes(problem)).toEqual(["a", "b", "c", "d"]);
    expect(problem.constraints).toEqual([
      {
        kind: "together",
        name: "podAffinity of default/web (topology.kubernetes.io/zone)",
        domainOf: Int32Array.of(0, 0, 1, -1),
        placed: Int32Array.of(0, 1),
        subjects: [0],
        members: [1],
      },
    ]);
  });

  test("a pod that can't be judged goes nowhere, and it is said why", () => {
    const problem = problemOf(aModel(NODES), [aPod("p", { spec: { resourceClaims: [{ name: "gpu" }] } })]);
    expect(allowedNodes(problem)).toEqual([]);
    expect(problem.notes).toEqual([
      "pod default/p can't be planned: it has resourceClaims (dynamic resource allocation)",
    ]);
  });
});

describe("rules between planned pods", () => {
  test("host ports: an address excludes itself, any address excludes all", () => {
    const port = (hostIP?: string): ApiObject =>
      aPod(`p${hostIP}`, { spec: { containers: [{ ports: [{ hostPort: 80, hostIP }] }] } });
    const rules = (...pods: ApiObject[]): (readonly number[])[] =>
      problemOf(aModel(NODES), pods).constraints.map(({ members }) => members);
    expect(rules(port("1.1.1.1"), port("2.2.2.2"))).toEqual([]);
    expect(rules(port(), port("0.0.0.0"))).toEqual([[0, 1]]);
    expect(rules(port("1.1.1.1"), port(), port("2.2.2.2"))).toEqual([
      [0, 1],
      [1, 2],
    ]);
  });

  test("anti-affinity: nodes without the label are each by themselves", () => {
    const spec = required("podAntiAffinity", near(ZONE, { app: "web" }));
    const pods = ["p", "q"].map((name) => aPod(name, { labels: { app: "web" }, spec }));
    const model = aModel(NODES, [aPod("old", { node: "a", labels: { app: "web" } })]);
    const problem = problemOf(model, pods);
    expect(problem.constraints).toEqual([
      {
        kind: "apart",
        name: "podAntiAffinity of default/p and 1 like it (topology.kubernetes.io/zone)",
        domainOf: Int32Array.of(0, 0, 1, 2),
        placed: Int32Array.of(1, 0, 0),
        subjects: [0, 1],
        members: [0, 1],
      },
    ]);
    expect(allowedNodes(problem)).toEqual(["c", "d"]);
    expect(problemOf(model, pods.slice(1)).constraints).toEqual([]);
  });

  test("spread constraints, over the domains that count", () => {
    const constraint = spreadOver(ZONE, 2, { app: "web" }, { minDomains: 2 });
    const spec = { topologySpreadConstraints: [constraint] };
    const pods = ["p", "q"].map((name) => aPod(name, { labels: { app: "web" }, spec }));
    const other = aPod("r", { labels: { app: "web" } });
    const model = aModel(NODES, [aPod("old", { node: "b", labels: { app: "web" } })]);
    expect(problemOf(model, [...pods, other]).constraints).toEqual([
      {
        kind: "spread",
        name: "topologySpreadConstraints of default/p and 1 like it (topology.kubernetes.io/zone)",
        domainOf: Int32Array.of(0, 0, 1, -1),
        placed: Int32Array.of(1, 0),
        subjects: [0, 1],
        members: [0, 1, 2],
        maxSkew: 2,
        minDomains: 2,
      },
    ]);
    expect(allowedNodes(problemOf(model, pods))).toEqual(["a", "b", "c"]);
  });

  test("a zone that the pod can't go to is no domain", () => {
    const constraint = spreadOver(ZONE, 1, { app: "web" });
    const spec = {
      nodeSelector: { "topology.kubernetes.io/zone": "z2" },
      topologySpreadConstraints: [constraint],
    };
    const pods = ["p", "q"].map((name) => aPod(name, { labels: { app: "web" }, spec }));
    const [rule] = problemOf(aModel(NODES), pods).constraints;
    expect(rule).toMatchObject({ domainOf: Int32Array.of(-1, -1, 0, -1), placed: Int32Array.of(0) });
  });
});

function container(cpu: string): Fields {
  return { containers: [{ name: "main", resources: { requests: { cpu } } }] };
}

function on(node: string): Fields {
  return { nominatedNodeName: node };
}
