// Expected figures were worked out by hand from kubernetes-sigs/scheduler-plugins 903da7df and the papers.
import { describe, expect, test } from "vitest";
import {
  node,
  topology,
  pod,
  deployment,
  type Dependency,
  appGroup,
  score,
  upstream,
} from "./testing/app-group-dump.ts";

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
    // a1's p2 is on n1: 0 there, z2 -> z1 5 (within 6), z3 -> z1 7 (beyond). a2's p2 on n3 has no effect.
    const alone = [
      [0, true],
      [5, true],
      [7, false],
    ];
    expect(upstream([...groups, web, db, other])).toEqual(alone);
    expect(upstream([...groups, other, web, db])).toEqual(alone);
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
    // A workload that is listed twice also counts twice.
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
