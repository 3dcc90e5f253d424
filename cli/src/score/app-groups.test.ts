// AppGroups of a dump are read as upstream reads them: by the labels of pods. Expected figures are worked out by hand from
// kubernetes-sigs/scheduler-plugins 903da7df (networkoverhead.go, util.go) and from the papers' algorithms.
import { describe, expect, test } from "vitest";
import { scoreDump } from "./score-dump.ts";
import type { DumpScores } from "./score-dump.ts";

const zoneOf: Readonly<Record<string, string>> = { n1: "z1", n2: "z2", n3: "z3" };
/** From the origin's zone to the destination's. */
const ZONE_COSTS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  z1: { z2: 10, z3: 20 },
  z2: { z1: 5, z3: 30 },
  z3: { z1: 7, z2: 9 },
};

const node = (name: string, annotations: Record<string, string> = {}): object => ({
  kind: "Node",
  metadata: {
    name,
    annotations,
    labels: { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": zoneOf[name]! },
  },
});
const topology = {
  kind: "NetworkTopology",
  metadata: { name: "nt-default" },
  spec: {
    weights: [
      {
        name: "UserDefined",
        topologyList: [
          {
            topologyKey: "topology.kubernetes.io/zone",
            originList: Object.entries(ZONE_COSTS).map(([origin, costs]) => ({
              origin,
              costList: Object.entries(costs).map(([destination, networkCost]) => ({
                destination,
                networkCost,
              })),
            })),
          },
        ],
      },
    ],
  },
};

const labels = (group: string, selector: string): Record<string, string> => ({
  "appgroup.diktyo.x-k8s.io": group,
  "appgroup.diktyo.x-k8s.io.workload": selector,
});

/** A pod of a Helm release's Deployment, which is called otherwise than the AppGroup's workload; `owner` null: a bare pod. */
function pod(
  namespace: string,
  name: string,
  [group, selector]: readonly [string, string],
  nodeName: string | null,
  owner: string | null,
): object {
  const ownerReferences = [{ kind: "ReplicaSet", name: `${owner}-5d4f`, controller: true }];
  return {
    kind: "Pod",
    metadata: {
      namespace,
      name,
      labels: labels(group, selector),
      ...(owner === null ? {} : { ownerReferences }),
    },
    spec: { containers: [{ name: "c" }], ...(nodeName === null ? {} : { nodeName }) },
  };
}

function deployment(
  namespace: string,
  name: string,
  [group, selector]: readonly [string, string],
  annotations: Record<string, string> = {},
): object {
  return {
    kind: "Deployment",
    metadata: { namespace, name, annotations },
    spec: {
      selector: { matchLabels: { release: name } },
      template: { metadata: { labels: { release: name, ...labels(group, selector) } } },
    },
  };
}

/** Without a limit: it is left out. */
type Dependency = readonly [selector: string, limit: number | null, namespace?: string];

function appGroup(
  namespace: string,
  name: string,
  workloads: Readonly<Record<string, readonly Dependency[]>>,
  annotations: Record<string, string> = {},
): object {
  const reference = (selector: string, of?: string): object => ({
    kind: "Deployment",
    name: `${selector}-deployment`,
    selector,
    ...(of === undefined ? {} : { namespace: of }),
  });
  return {
    kind: "AppGroup",
    metadata: { namespace, name, annotations },
    spec: {
      workloads: Object.entries(workloads).map(([selector, dependencies]) => ({
        workload: reference(selector),
        dependencies: dependencies.map(([target, maxNetworkCost, of]) => ({
          workload: reference(target, of),
          ...(maxNetworkCost === null ? {} : { maxNetworkCost }),
        })),
      })),
    },
  };
}

function score(
  objects: readonly object[],
  podName: string,
  strategy: string,
  mode: string,
  settings: Record<string, number> = {},
): DumpScores {
  const dumpText = JSON.stringify({ kind: "List", items: objects });
  return scoreDump({ dumpText, podName, strategy, mode, settings });
}
const upstream = (objects: readonly object[], podName = "shop/web"): unknown[] =>
  score(
    [node("n1"), node("n2"), node("n3"), topology, ...objects],
    podName,
    "network-overhead",
    "upstream",
  ).nodes.map(({ raw, feasible }) => [raw, feasible]);

describe("network-overhead/upstream of a dump", () => {
  const web = pod("shop", "web", ["a1", "p1"], null, "rel-web");
  const db = pod("shop", "db", ["a1", "p2"], "n1", "rel-db");

  const channels = JSON.stringify([{ source: "p1-deployment", target: "p2-deployment", type: "HTTPRoute" }]);
  test.each([
    ["plain", {}],
    ["one that `isochrone tosca` wrote", { "isochrone.dev/channels": channels }],
  ])(
    "takes a limit that is left out as 0 and 10,000 as none, in an AppGroup that is %s",
    (_, annotations) => {
      const limited = (limit: number | null): unknown[] =>
        upstream([appGroup("shop", "a1", { p1: [["p2", limit]], p2: [] }, annotations), web, db]);
      // p2 is on n1: z2 -> z1 costs 5, z3 -> z1 7.
      expect(limited(null)).toEqual([
        [0, true],
        [5, false],
        [7, false],
      ]);
      expect(limited(10_000)).toEqual([
        [0, true],
        [5, true],
        [7, true],
      ]);
    },
  );

  test("keeps two AppGroups of one namespace apart, whose selectors are equal", () => {
    const groups = [
      appGroup("shop", "a1", { p1: [["p2", 6]], p2: [] }),
      appGroup("shop", "a2", { p1: [["p2", 6]], p2: [] }),
    ];
    const other = pod("shop", "other", ["a2", "p2"], "n3", "rel-other");
    // a1's p2 is on n1: 0 there, z2 -> z1 5 (within 6), z3 -> z1 7 (beyond). a2's on n3 counts for nothing.
    const alone = [
      [0, true],
      [5, true],
      [7, false],
    ];
    expect(upstream([...groups, web, db, other])).toEqual(alone);
    expect(upstream([...groups, other, web, db])).toEqual(alone);
    // The same of bare pods.
    const bare = [pod("shop", "web", ["a1", "p1"], null, null), pod("shop", "db", ["a1", "p2"], "n1", null)];
    expect(upstream([...groups, pod("shop", "x", ["a2", "p2"], "n3", null), ...bare])).toEqual(alone);
  });

  test("counts pods of the label in every namespace, also such as are called alike", () => {
    const group = appGroup("shop", "a1", { p1: [["p2", 8]], p2: [] });
    const away = pod("pay", "db", ["a1", "p2"], "n2", "rel-db");
    // Two pods, on n1 and on n2: 10 on n1 (z1 -> z2), 5 on n2 (z2 -> z1), 7 + 9 on n3; votes 1:1, 2:0, 1:1.
    expect(upstream([group, web, db, away])).toEqual([
      [10, true],
      [5, true],
      [16, true],
    ]);
  });

  test("counts a dependency that is named twice twice, each with its own limit", () => {
    const group = appGroup("shop", "a1", {
      p1: [
        ["p2", 6],
        ["p2", 4],
      ],
      p2: [],
    });
    // 2 x 5 on n2: satisfied by 6 and violated by 4; 2 x 7 on n3, violated twice.
    expect(upstream([group, web, db])).toEqual([
      [0, true],
      [10, true],
      [14, false],
    ]);
    // So does a workload that is listed twice.
    const twice = {
      ...group,
      spec: {
        workloads: [[["p2", 6]], [["p2", 4]]].map(
          (each) =>
            (
              appGroup("shop", "a1", { p1: each as unknown as Dependency[] }) as {
                spec: { workloads: object[] };
              }
            ).spec.workloads[0],
        ),
      },
    };
    expect(upstream([twice, web, db])).toEqual([
      [0, true],
      [10, true],
      [14, false],
    ]);
  });

  test("counts neither annotations nor traffic: the plugin knows AppGroups alone", () => {
    const group = appGroup("shop", "a1", { p1: [], p2: [] });
    const annotated = deployment("shop", "rel-web", ["a1", "p1"], {
      "isochrone.dev/dependencies": '[{"name": "rel-db"}]',
      "isochrone.dev/traffic-rel-db": "1000",
    });
    expect(upstream([group, annotated, web, db])).toEqual([
      [0, true],
      [0, true],
      [0, true],
    ]);
  });

  test("says why an AppGroup counts for nothing", () => {
    const elsewhere = appGroup("default", "a1", { p1: [["p2", 6]], p2: [] });
    const nodes = [node("n1"), node("n2"), topology];
    const { explanation, nodes: scored } = score(
      [...nodes, elsewhere, web, db],
      "shop/web",
      "network-overhead",
      "upstream",
    );
    expect(scored.map(({ raw }) => raw)).toEqual([0, 0]);
    expect(explanation.join("\n")).toContain(
      "the pod's label names AppGroup a1, which isn't in namespace shop; that of default binds pods of its own namespace alone",
    );
  });
});

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
    // One is called like a selector, and carries none.
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
    // Without an AppGroup the labels say nothing, and the pods nothing to each other.
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
    // A workload of that name in the own namespace is another one.
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
