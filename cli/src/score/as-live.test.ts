// Offline scoring reads a dump as the running services read its cluster.
import { describe, expect, test } from "vitest";
import { scoreDump } from "./score-dump.ts";
import type { DumpScores, ScoreDumpOptions } from "./score-dump.ts";

type Fields = Readonly<Record<string, unknown>>;

const object = (kind: string, name: string, metadata: Fields = {}, more: Fields = {}): object => ({
  kind,
  metadata: { name, ...(kind === "Node" ? {} : { namespace: "shop" }), ...metadata },
  ...more,
});
const NODES = ["n1", "n2", "n3"].map((name, at) =>
  object("Node", name, {
    annotations: Object.fromEntries(
      [1, 2, 3].map((to) => [`isochrone.dev/network-cost-n${to}`, String(10 * Math.abs(at + 1 - to))]),
    ),
  }),
);
const deployment = (name: string, annotations: Fields = {}, labels: Fields = {}): object =>
  object(
    "Deployment",
    name,
    { annotations },
    {
      spec: {
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name, ...labels } } },
      },
    },
  );
const pod = (name: string, app: string, nodeName: string | null, metadata: Fields = {}): object =>
  object("Pod", name, { labels: { app }, ...metadata }, { spec: nodeName === null ? {} : { nodeName } });
const CALLS = { "isochrone.dev/traffic-db": "1000", "isochrone.dev/calls": '["db"]' };
const WEB = [deployment("web", CALLS), pod("web-1", "web", null)];
const service = (spec: Fields): object =>
  object("Service", "db", {}, { spec: { selector: { app: "db" }, ...spec } });

const score = (items: readonly object[], more: Partial<ScoreDumpOptions> = {}): DumpScores =>
  scoreDump({
    dumpText: JSON.stringify({ kind: "List", items: [...NODES, ...items] }),
    podName: "shop/web-1",
    strategy: "resource-network",
    ...more,
  });
const networkOf = (items: readonly object[]): unknown[] =>
  score(items, { mode: "raw" }).nodes.map(({ parts }) => parts["network"]);

describe("a pod's workload", () => {
  const db = (metadata: Fields): unknown[] =>
    networkOf([...WEB, deployment("db"), pod("db-1", "db", "n3", metadata)]);
  const ownedBy = (kind: string, name: string, more: Fields = {}): Fields => ({
    ownerReferences: [{ apiVersion: "v1", kind, name, uid: "u", controller: true }],
    ...more,
  });
  const AT_N3 = [-20_000, -10_000, 0];

  test.each<[string, Fields, boolean]>([
    ["is found by the selector, of a manifest", {}, true],
    ["is the pod itself where a cluster knows no controller", { uid: "p" }, false],
    ["is its controller", ownedBy("StatefulSet", "db", { uid: "p" }), true],
    ["is its ReplicaSet's Deployment", ownedBy("ReplicaSet", "db-5d9"), true],
    [
      "is its ReplicaSet's Deployment by the hash in its labels",
      ownedBy("ReplicaSet", "db-5d9", { uid: "p", labels: { "pod-template-hash": "5d9" } }),
      true,
    ],
    ["is the CronJob of its Job", ownedBy("Job", "db-28934720", { uid: "p" }), true],
    ["is no other workload that its labels fit", ownedBy("StrimziPodSet", "kafka", { uid: "p" }), false],
  ])("%s", (_, metadata, isOfDb) => {
    expect(db(metadata)).toEqual(isOfDb ? AT_N3 : [null, null, null]);
  });

  test("is its ReplicaSet where no Deployment owns that", () => {
    const items = [
      deployment("db", { "isochrone.dev/traffic-web-front": "1000", "isochrone.dev/calls": "[]" }),
      object("ReplicaSet", "web-front"),
      pod("web-1", "x", null, ownedBy("ReplicaSet", "web-front", { uid: "p" })),
      pod("db-1", "db", "n3"),
    ];
    expect(networkOf(items)).toEqual(AT_N3);
  });

  test("is that of a pod in a typed list, whose items have no kind", () => {
    const list = (kind: string, items: readonly object[]): string =>
      JSON.stringify({
        kind: `${kind}List`,
        items: items.map((item) => ({ ...item, kind: undefined })),
      });
    const dumpText = [
      list("Node", NODES),
      list("Deployment", [deployment("web", CALLS), deployment("db")]),
      list("Pod", [pod("web-1", "web", null), pod("db-1", "db", "n3")]),
    ].join("\n");
    const { nodes } = score([], { dumpText, mode: "raw" });
    expect(nodes.map(({ parts }) => parts["network"])).toEqual(AT_N3);
  });
});

test("Services say that callers go to the nearest replica", () => {
  const two = [...WEB, deployment("db"), pod("db-1", "db", "n1"), pod("db-2", "db", "n3")];
  const scoresOf = (items: readonly object[]): number[] =>
    score(items).nodes.map(({ score: points }) => points);
  const equal = scoresOf(two);
  expect(new Set(equal).size).toBe(1);
  expect(scoresOf([...two, service({})])).toEqual(equal);
  const [n1, n2, n3] = scoresOf([...two, service({ trafficDistribution: "PreferSameNode" })]);
  expect(n1).toBe(n3);
  expect(n1).toBeGreaterThan(n2!);
});

test("only isochrone.dev/dependencies declares, whatever prefix the figures have", () => {
  const beyond = '[{"name": "db", "maxNetworkCost": 15}]';
  const feasible = (name: string): unknown[] =>
    score([
      deployment("web", { [name]: beyond }),
      deployment("db"),
      WEB[1]!,
      pod("db-1", "db", "n3"),
    ]).nodes.map((each) => each.feasible);
  expect(feasible("isochrone.dev/dependencies")).toEqual([false, true, true]);
  expect(feasible("dependencies")).toEqual([true, true, true]);
});

test("a workflow is what its pods' labels say, with the far ends of its channels", () => {
  const inFlow = (name: string, workflow: string, nodeName: string | null, traffic: Fields): object[] => {
    const labels = { app: name, "isochrone.dev/workflow": workflow };
    return [deployment(name, traffic, labels), pod(`${name}-1`, name, nodeName, { labels })];
  };
  const calls = { ...CALLS, "isochrone.dev/dependencies": '[{"name": "cache"}]' };
  const items = [
    ...inFlow("web", "front", null, calls),
    ...inFlow("db", "back", "n3", { "isochrone.dev/traffic-log": "9000" }),
    ...inFlow("cache", "front", "n1", {}),
    ...inFlow("log", "back", "n1", {}),
  ];
  const { explanation } = score(items, { strategy: "network-overhead" });
  expect(networkOf(items)).toEqual([-20_000, -10_000, 0]);
  // The channel db -> log belongs to another workflow.
  expect(explanation).toContain(
    "1 channel of unknown traffic counted as the median known one, 1000 bytes/s.",
  );
});
