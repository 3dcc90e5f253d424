import { describe, expect, test } from "vitest";
import type { ApiObject } from "../objects/json.ts";
import { aModel, aNode, aPod, HOST, near, rejections, required, ZONE } from "../testing/objects.ts";

const DB = { app: "db" };
const WEB = { app: "web" };
const NODES = [aNode("a", "z1"), aNode("b", "z1"), aNode("c", "z2"), aNode("d")];
const pod = (kind: "podAffinity" | "podAntiAffinity", ...terms: object[]): ApiObject =>
  aPod("p", { labels: WEB, spec: { ...required(kind, ...terms.map((term) => ({ ...term }))) } });
const NO = "InterPodAffinity";

describe("pod affinity", () => {
  test("to be where such a pod is; a node without the label is out", () => {
    const model = aModel(NODES, [aPod("db", { labels: DB, node: "a" })]);
    expect(rejections(model, pod("podAffinity", near(ZONE, DB)))).toEqual({ a: "", b: "", c: NO, d: NO });
    expect(model.verdict(pod("podAffinity", near(ZONE, DB)), "c")?.message).toBe(
      "node(s) didn't match pod affinity rules",
    );
  });

  test("a pod on a node without the label is nowhere", () => {
    const model = aModel(NODES, [aPod("db", { labels: DB, node: "d" })]);
    expect(rejections(model, pod("podAffinity", near(ZONE, DB)))).toEqual({ a: NO, b: NO, c: NO, d: NO });
  });

  test("one pod is to match all terms, each in its own topology", () => {
    const both = pod("podAffinity", near(ZONE, DB), near(HOST, { tier: "fast" }));
    const apart = aModel(NODES, [
      aPod("1", { labels: DB, node: "a" }),
      aPod("2", { labels: { tier: "fast" }, node: "a" }),
    ]);
    expect(rejections(apart, both)).toEqual({ a: NO, b: NO, c: NO, d: NO });
    const one = aModel(NODES, [aPod("1", { labels: { ...DB, tier: "fast" }, node: "a" })]);
    expect(rejections(one, both)).toEqual({ a: "", b: NO, c: NO, d: NO });
  });

  test("the first of a group that wants its own kind goes anywhere that has the label", () => {
    const model = aModel(NODES);
    expect(rejections(model, pod("podAffinity", near(ZONE, WEB)))).toEqual({ a: "", b: "", c: "", d: NO });
    expect(rejections(model, pod("podAffinity", near(ZONE, DB)))).toEqual({ a: NO, b: NO, c: NO, d: NO });
    model.place(aPod("first", { labels: WEB }), "c");
    expect(rejections(model, pod("podAffinity", near(ZONE, WEB)))).toEqual({ a: NO, b: NO, c: "", d: NO });
  });

  test("a pod that is nominated may end up elsewhere, so it is no company", () => {
    const model = aModel(NODES, [aPod("db", { labels: DB, status: { nominatedNodeName: "a" } })]);
    expect(rejections(model, pod("podAffinity", near(ZONE, DB)))).toMatchObject({ a: NO, b: NO });
  });
});

describe("pod anti-affinity", () => {
  test("not where such a pod is; a node without the label doesn't matter", () => {
    const model = aModel(NODES, [aPod("1", { labels: DB, node: "a" }), aPod("2", { labels: DB, node: "d" })]);
    expect(rejections(model, pod("podAntiAffinity", near(ZONE, DB)))).toEqual({ a: NO, b: NO, c: "", d: "" });
    expect(model.verdict(pod("podAntiAffinity", near(ZONE, DB)), "b")?.message).toBe(
      "node(s) didn't match pod anti-affinity rules",
    );
  });

  test("nor where a pod is that doesn't want it, as long as that one is there", () => {
    const loner = aPod("loner", {
      labels: DB,
      node: "a",
      spec: required("podAntiAffinity", near(ZONE, WEB)),
    });
    const model = aModel(NODES, [loner]);
    const web = aPod("p", { labels: WEB });
    expect(rejections(model, web)).toEqual({ a: NO, b: NO, c: "", d: "" });
    expect(model.verdict(web, "a")?.message).toBe("node(s) didn't satisfy existing pods anti-affinity rules");
    expect(rejections(model, aPod("q", { labels: DB }))).toEqual({ a: "", b: "", c: "", d: "" });
    model.remove("default/loner");
    expect(rejections(model, web)).toEqual({ a: "", b: "", c: "", d: "" });
  });

  test("of nominated pods both ways, on their node", () => {
    const waiting = { labels: WEB, status: { nominatedNodeName: "a" } };
    const own = aModel(NODES, [aPod("w", waiting)]);
    expect(rejections(own, pod("podAntiAffinity", near(ZONE, WEB)))).toMatchObject({ a: NO, b: "" });
    const loner = aPod("w", { ...waiting, spec: required("podAntiAffinity", near(ZONE, WEB)) });
    const theirs = aModel(NODES, [
      loner,
      aPod("1", { node: "c", spec: required("podAntiAffinity", near(ZONE, WEB)) }),
    ]);
    expect(rejections(theirs, aPod("p", { labels: WEB }))).toEqual({ a: NO, b: "", c: NO, d: "" });
    // kube-scheduler skips the plugin if neither a placed pod nor an own term needs it.
    expect(rejections(aModel(NODES, [loner]), aPod("p", { labels: WEB }))).toMatchObject({ a: "" });
  });
});

describe("namespaces of a term", () => {
  const namespaces = [
    { metadata: { name: "default", labels: { team: "a" } } },
    { metadata: { name: "other", labels: { team: "b" } } },
  ];
  const model = aModel(
    [aNode("a"), aNode("b"), aNode("c")],
    [
      aPod("1", { labels: DB, node: "a" }),
      aPod("2", { labels: DB, node: "b", namespace: "other" }),
      aPod("3", { labels: DB, node: "c", namespace: "unknown" }),
    ],
    { namespaces },
  );

  test.each([
    [{}, { a: NO, b: "", c: "" }],
    [{ namespaces: ["other"] }, { a: "", b: NO, c: "" }],
    [{ namespaceSelector: {} }, { a: NO, b: NO, c: NO }],
    [{ namespaceSelector: { matchLabels: { team: "b" } } }, { a: "", b: NO, c: "" }],
    [
      { namespaces: ["default"], namespaceSelector: { matchLabels: { team: "b" } } },
      { a: NO, b: NO, c: "" },
    ],
    [
      { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "unknown" } } },
      { a: "", b: "", c: NO },
    ],
  ])("%j", (fields, expected) => {
    expect(rejections(model, pod("podAntiAffinity", near(HOST, DB, fields)))).toEqual(expected);
  });

  test("a placed pod's term reaches into namespaces that it selects", () => {
    const term = near(HOST, WEB, { namespaceSelector: { matchLabels: { team: "b" } } });
    const placed = aPod("1", { node: "a", spec: required("podAntiAffinity", term) });
    const model = aModel([aNode("a")], [placed], { namespaces });
    expect(rejections(model, aPod("p", { labels: WEB }))).toEqual({ a: "" });
    expect(rejections(model, aPod("p", { labels: WEB, namespace: "other" }))).toEqual({ a: NO });
  });
});
