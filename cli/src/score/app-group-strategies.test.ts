// Expected figures were worked out by hand from kubernetes-sigs/scheduler-plugins 903da7df and the papers.
import { describe, expect, test } from "vitest";
import { node, pod, deployment, appGroup, score } from "./testing/app-group-dump.ts";

describe("the other strategies, of a dump", () => {
  const costs = { n1: { n2: 10, n3: 25 }, n2: { n1: 10, n3: 25 }, n3: { n1: 25, n2: 25 } };
  const nodes = Object.entries(costs).map(([name, to]) =>
    node(
      name,
      Object.fromEntries(
        Object.entries(to).map(([other, cost]) => [`isochrone.dev/network-cost-${other}`, String(cost)]),
      ),
    ),
  );
  const web = pod("shop", "web", ["a1", "p1"], null, "rel-web");
  const db = pod("shop", "db", ["a1", "p2"], "n2", "rel-db");
  const deployments = [
    deployment("shop", "rel-web", ["a1", "p1"]),
    deployment("shop", "rel-db", ["a1", "p2"]),
  ];

  test("are bound by an AppGroup's selectors, whatever the Deployments are called", () => {
    const group = appGroup("shop", "a1", { p1: [["p2", 20]], p2: [] });
    const decoy = { kind: "Deployment", metadata: { namespace: "shop", name: "p2-deployment" }, spec: {} };
    const scored = score(
      [...nodes, ...deployments, decoy, group, web, db],
      "shop/web",
      "resource-network",
      "normalized",
    );
    expect(scored.nodes.map(({ feasible }) => feasible)).toEqual([true, true, false]);
    expect(scored.nodes[2]!.reason).toBe(
      "maxNetworkCost of channel rel-web -> rel-db is 20, the network cost from n3 is 25.000 (1 of 1 replicas beyond it)",
    );
  });

  test("see bare pods of a selector as one workload", () => {
    const group = appGroup("shop", "a1", { p1: [["p2", 20]], p2: [] });
    const bare = [
      pod("shop", "web", ["a1", "p1"], null, null),
      pod("shop", "db-1", ["a1", "p2"], "n2", null),
      pod("shop", "db-2", ["a1", "p2"], "n1", null),
    ];
    const scored = score([...nodes, group, ...bare], "shop/web", "resource-network", "normalized");
    // Without an AppGroup, labels don't connect the pods.
    const alone = score([...nodes, ...bare], "shop/web", "resource-network", "normalized");
    expect(alone.nodes.map(({ feasible }) => feasible)).toEqual([true, true, true]);
    expect(scored.nodes.map(({ reason }) => reason)).toEqual([
      null,
      null,
      "maxNetworkCost of channel p1 -> p2 is 20, the network cost from n3 is 25.000 (2 of 2 replicas beyond it)",
    ]);
  });

  test("have types and priorities of an AppGroup's annotation, as `isochrone tosca` writes it", () => {
    const group = appGroup(
      "shop",
      "a1",
      {
        p1: [
          ["p2", 10_000],
          ["p3", 10_000],
        ],
        p2: [],
        p3: [],
      },
      {
        "isochrone.dev/channels": JSON.stringify([
          { source: "p1-deployment", target: "p2-deployment", type: "HTTPRoute" },
          { source: "p1-deployment", target: "p3-deployment", priority: 40 },
        ]),
      },
    );
    const cache = pod("shop", "cache", ["a1", "p3"], "n3", "rel-cache");
    const { nodes: scored } = score(
      [...nodes, ...deployments, deployment("shop", "rel-cache", ["a1", "p3"]), group, web, db, cache],
      "shop/web",
      "communication-affinity",
      "raw",
      { alpha: 1, beta: 1, gamma: 1 },
    );
    // HTTPRoute is 100 on n2, the priority 40 on n3: 100/10 + 40/25, 100 + 40/25, 100/25 + 40.
    expect(scored.map(({ raw }) => raw)).toEqual([11.6, 101.6, 44]);
  });

  test("count traffic with a workload of another namespace", () => {
    const talking = deployment("shop", "rel-web", ["a1", "p1"], { "isochrone.dev/traffic-pay.api": "1000" });
    const api = {
      kind: "Pod",
      metadata: {
        namespace: "pay",
        name: "api-5d4f-x",
        ownerReferences: [{ kind: "ReplicaSet", name: "api-5d4f", controller: true }],
      },
      spec: { nodeName: "n2" },
    };
    // -0.5 x 1,000 B/s x 10, 0 and 25 ms.
    const { nodes: scored } = score([...nodes, talking, web, api], "shop/web", "resource-network", "raw");
    expect(scored.map(({ raw }) => raw)).toEqual([-5_000, 0, -12_500]);
    const own = { ...api, metadata: { ...api.metadata, namespace: "shop" }, spec: { nodeName: "n3" } };
    const both = score([...nodes, talking, web, api, own], "shop/web", "resource-network", "raw");
    expect(both.nodes.map(({ raw }) => raw)).toEqual([-5_000, 0, -12_500]);
  });

  test("believe no other namespace about the pod's own traffic", () => {
    const foreign = deployment("evil", "lure", ["x", "x"], {
      "isochrone.dev/traffic-shop.rel-web": "1000000",
    });
    const lure = pod("evil", "lure", ["x", "x"], "n3", "lure");
    const quiet = score([...nodes, ...deployments, web, db], "shop/web", "resource-network", "raw");
    const lured = score(
      [...nodes, ...deployments, web, db, foreign, lure],
      "shop/web",
      "resource-network",
      "raw",
    );
    expect(lured.nodes).toEqual(quiet.nodes);
  });

  test("say which selectors match nothing, and bind nobody by them", () => {
    const group = appGroup("shop", "a1", {
      p1: [
        ["p2", 0],
        ["typo", 0],
      ],
      p2: [],
    });
    const decoy = { kind: "Deployment", metadata: { namespace: "shop", name: "typo" }, spec: {} };
    const called = { ...pod("shop", "typo", ["a1", "p9"], "n3", "typo") };
    const { explanation } = score(
      [...nodes, ...deployments, decoy, called, group, web, db],
      "shop/web",
      "resource-network",
      "normalized",
    );
    expect(explanation).toContain(
      'AppGroup shop/a1: no pod and no pod template has the labels appgroup.diktyo.x-k8s.io=a1 and appgroup.diktyo.x-k8s.io.workload=SELECTOR for the selector "typo"',
    );
    const without = appGroup("shop", "a1", { p1: [["p2", 0]], p2: [] });
    const objects = [...nodes, ...deployments, decoy, called, web, db];
    expect(score([...objects, group], "shop/web", "network-overhead", "strict").nodes).toEqual(
      score([...objects, without], "shop/web", "network-overhead", "strict").nodes,
    );
  });

  test("refuse an annotation that can't be read, by its place", () => {
    const group = appGroup("shop", "a1", { p1: [["p2", 20]] }, { "isochrone.dev/channels": "{" });
    expect(() =>
      score([...nodes, ...deployments, group, web, db], "shop/web", "resource-network", "raw"),
    ).toThrow(
      /metadata\.annotations\.isochrone\.dev\/channels must be a JSON list of at most 204800 characters, got "\{"/,
    );
  });
});
