import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { ClusterGraph } from "./cluster-graph.ts";
import type { CostOptions } from "./cost.ts";
import { clusterSnapshot, deadLink, link, node } from "./testing/builders.ts";
import type { ClusterNode, CoordinateFit, Link } from "./schema.ts";

const inZone = (name: string, zone: string, region = "r1"): ClusterNode => node(name, { zone, region });
const graphOf = (nodes: ClusterNode[], links: Link[], options: CostOptions = {}): ClusterGraph =>
  new ClusterGraph(clusterSnapshot(nodes, links), options);

describe("the cost between two nodes", () => {
  test("is 0 from a node to itself, whatever links say", () => {
    const graph = graphOf([node("a")], [link("a", "a", 7)]);
    expect(graph.cost("a", "a")).toMatchObject({ known: true, ms: 0 });
    expect(graph.ignoredLinks).toBe(1);
  });

  test("is that of the measured link, with its method, age and error", () => {
    const graph = graphOf([node("a"), node("b")], [link("a", "b", 12.5, { ageSeconds: 4, errorMs: 0.2 })]);
    expect(graph.cost("a", "b")).toEqual({
      known: true,
      ms: 12.5,
      origin: "measured",
      method: "udp_rr",
      ageSeconds: 4,
      errorMs: 0.2,
    });
  });

  test("keeps the two directions of a pair apart", () => {
    const graph = graphOf([node("a"), node("b")], [link("a", "b", 10), link("b", "a", 30)]);
    expect(graph.cost("a", "b")).toMatchObject({ ms: 10 });
    expect(graph.cost("b", "a")).toMatchObject({ ms: 30 });
  });

  test("comes from the first method of the configured order that has a figure", () => {
    const links = [
      link("a", "b", 1, { method: "tcp_rr" }),
      link("a", "b", 2, { method: "udp_rr" }),
      link("a", "b", null, { method: "icmp", lossRatio: null }),
    ];
    const nodes = [node("a"), node("b")];
    expect(graphOf(nodes, links).cost("a", "b")).toMatchObject({ ms: 2, method: "udp_rr" });
    expect(graphOf(nodes, links, { methodOrder: ["tcp_rr", "udp_rr"] }).cost("a", "b")).toMatchObject({
      method: "tcp_rr",
    });
  });

  test("comes by default from the method that the snapshot prefers, else from what is nearest to user traffic", () => {
    const links = (["tcp_connect", "icmp", "tcp_rr", "udp_rr"] as const).map((method, index) =>
      link("a", "b", index, { method }),
    );
    const nodes = [node("a"), node("b")];
    const preferring = { ...clusterSnapshot(nodes, links), costMethods: ["icmp" as const] };
    expect(new ClusterGraph(preferring).cost("a", "b")).toMatchObject({ method: "icmp" });
    const chosen = [4, 3, 2, 1].map((most) => graphOf(nodes, links.slice(0, most)).cost("a", "b"));
    expect(chosen).toMatchObject([
      { method: "udp_rr" },
      { method: "tcp_rr" },
      { method: "icmp" },
      { method: "tcp_connect" },
    ]);
  });

  test("comes from a method that answers when another one is blocked", () => {
    const graph = graphOf(
      [node("a"), node("b")],
      [deadLink("a", "b", { method: "icmp" }), link("a", "b", 3)],
    );
    expect(graph.cost("a", "b")).toMatchObject({ known: true, ms: 3, method: "udp_rr" });
  });

  test("is unmeasured without a link or anything to estimate it from", () => {
    expect(graphOf([node("a"), node("b")], []).cost("a", "b")).toEqual({
      known: false,
      reason: "unmeasured",
    });
  });

  test("names a node that the graph doesn't hold", () => {
    expect(graphOf([node("a")], []).cost("a", "ghost")).toEqual({ known: false, reason: "unknown_node" });
  });

  test("is stale beyond three windows, and at exactly three windows not yet", () => {
    const nodes = [node("a"), node("b")];
    expect(graphOf(nodes, [link("a", "b", 5, { ageSeconds: 90 })]).cost("a", "b")).toMatchObject({
      known: true,
    });
    expect(graphOf(nodes, [link("a", "b", 5, { ageSeconds: 90.5 })]).cost("a", "b")).toEqual({
      known: false,
      reason: "stale",
    });
  });

  test("counts the age of the snapshot itself", () => {
    const graph = graphOf([node("a"), node("b")], [link("a", "b", 5, { ageSeconds: 50 })], {
      snapshotAgeSeconds: 41,
    });
    expect(graph.cost("a", "b")).toEqual({ known: false, reason: "stale" });
  });
});

describe("a pair that was probed and never answered", () => {
  const zoneMates = [inZone("a1", "a"), inZone("b1", "b"), inZone("a2", "a"), inZone("b2", "b")];

  test("is unreachable although its zones have a summary", () => {
    const graph = graphOf(zoneMates, [deadLink("a1", "b1"), link("a2", "b2", 9)]);
    expect(graph.cost("a1", "b1")).toEqual({ known: false, reason: "unreachable" });
    expect(graph.costMsById(0, 1)).toBe(Infinity);
  });

  test("is unreachable although both nodes have coordinates", () => {
    const nodes = [node("a", { coordinate: [0] }), node("b", { coordinate: [1] })];
    const graph = graphOf(nodes, [deadLink("a", "b")], { estimate: () => ({ ms: 1, errorMs: null }) });
    expect(graph.cost("a", "b")).toEqual({ known: false, reason: "unreachable" });
  });

  test("is unreachable although an older figure of another method is left", () => {
    const old = link("a", "b", 4, { method: "tcp_rr", ageSeconds: 1_000 });
    expect(graphOf([node("a"), node("b")], [old, deadLink("a", "b")]).cost("a", "b")).toEqual({
      known: false,
      reason: "unreachable",
    });
  });

  test("is unreachable although somebody declared a cost", () => {
    const declared = link("a", "b", 4, { method: "icmp", origin: "declared", lossRatio: null });
    expect(graphOf([node("a"), node("b")], [declared, deadLink("a", "b")]).cost("a", "b")).toMatchObject({
      known: false,
    });
  });
});

describe("estimates by published coordinates", () => {
  const fit: CoordinateFit = {
    fittedAt: "2026-01-01T00:00:00.000Z",
    ageSeconds: 20,
    pairs: 6,
    medianRelativeError: 0.1,
    p90RelativeError: 0.25,
  };
  const nodes = [
    node("a", { coordinate: [0, 0, 1] }),
    node("b", { coordinate: [3, 4, 2] }),
    node("c", { coordinate: null }),
    node("d", { coordinate: [0, 1] }),
  ];
  const graphWith = (coordinates: CoordinateFit | null, links: Link[] = [], options: CostOptions = {}) =>
    new ClusterGraph({ ...clusterSnapshot(nodes, links), coordinates }, options);

  test("are distance and both heights, with the fit's age and an error", () => {
    expect(graphWith(fit).cost("a", "b")).toEqual({
      known: true,
      ms: 8,
      origin: "estimated",
      method: null,
      ageSeconds: 20,
      errorMs: 2,
    });
    expect(graphWith(fit).costMsById(0, 1)).toBe(8);
    expect(graphWith({ ...fit, p90RelativeError: null }).cost("a", "b")).toMatchObject({ errorMs: null });
  });

  test("give way to a measured link, and don't reach a pair that never answers", () => {
    expect(graphWith(fit, [link("a", "b", 30)]).cost("a", "b")).toMatchObject({ ms: 30, origin: "measured" });
    expect(graphWith(fit, [deadLink("a", "b")]).cost("a", "b")).toMatchObject({ reason: "unreachable" });
  });

  test("are not made of coordinates that are missing, of another kind, too old, or of unknown age", () => {
    expect(graphWith(fit).cost("a", "c")).toMatchObject({ known: false });
    expect(graphWith(fit).cost("a", "d")).toMatchObject({ known: false });
    expect(graphWith({ ...fit, ageSeconds: 91 }).cost("a", "b")).toMatchObject({ known: false });
    expect(graphWith(fit, [], { snapshotAgeSeconds: 71 }).cost("a", "b")).toMatchObject({ known: false });
    expect(graphWith(null).cost("a", "b")).toMatchObject({ known: false });
    expect(graphOf(nodes, []).cost("a", "b")).toMatchObject({ known: false });
  });
});

describe("estimates for pairs without a link", () => {
  test("use the coordinates first", () => {
    const nodes = [
      { ...inZone("a1", "a"), coordinate: [0] },
      { ...inZone("b1", "b"), coordinate: [3] },
      inZone("a2", "a"),
      inZone("b2", "b"),
    ];
    const estimate: CostOptions["estimate"] = (x, y) => ({
      ms: Math.abs(x.coordinate![0]! - y.coordinate![0]!),
      errorMs: 0.5,
    });
    const graph = graphOf(nodes, [link("a2", "b2", 50)], { estimate });
    expect(graph.cost("a1", "b1")).toMatchObject({ ms: 3, origin: "estimated", errorMs: 0.5 });
    expect(graph.cost("a1", "b2")).toMatchObject({ ms: 50, origin: "estimated" });
  });

  test("use the median of the zones' links, both directions, with its spread and the oldest age", () => {
    const nodes = ["a1", "a2", "a3"]
      .map((name) => inZone(name, "a"))
      .concat(["b1", "b2"].map((name) => inZone(name, "b")));
    const links = [
      link("a1", "b1", 10, { ageSeconds: 2 }),
      link("b2", "a2", 20, { ageSeconds: 8 }),
      link("a2", "b1", 12),
    ];
    expect(graphOf(nodes, links).cost("a3", "b2")).toEqual({
      known: true,
      ms: 12,
      origin: "estimated",
      method: null,
      ageSeconds: 8,
      errorMs: 2,
    });
  });

  test("take zones of equal name in different regions for different zones", () => {
    const nodes = [
      inZone("x1", "a", "r1"),
      inZone("y1", "a", "r2"),
      inZone("x2", "a", "r1"),
      inZone("y2", "a", "r2"),
    ];
    const graph = graphOf(nodes, [link("x1", "x2", 1), link("x1", "y1", 80)]);
    expect(graph.cost("x2", "x1")).toMatchObject({ ms: 1 });
    expect(graph.cost("x2", "y2")).toMatchObject({ ms: 80 });
  });

  test("fall back from zones to regions", () => {
    const nodes = [inZone("x1", "a"), inZone("y1", "c", "r2"), inZone("x2", "b"), inZone("y2", "d", "r2")];
    expect(graphOf(nodes, [link("x1", "y1", 70)]).cost("x2", "y2")).toMatchObject({
      ms: 70,
      origin: "estimated",
    });
  });

  test("never rest on stale, dead or declared links", () => {
    const nodes = [inZone("a1", "a"), inZone("b1", "b"), inZone("a2", "a"), inZone("b2", "b")];
    const links = [
      link("a1", "b1", 5, { ageSeconds: 500 }),
      deadLink("b1", "a1"),
      link("a1", "b2", 6, { origin: "declared" }),
    ];
    expect(graphOf(nodes, links).cost("a2", "b2")).toEqual({ known: false, reason: "unmeasured" });
  });

  test("stand in for a stale link", () => {
    const nodes = [inZone("a1", "a"), inZone("b1", "b"), inZone("a2", "a")];
    const graph = graphOf(nodes, [link("a1", "b1", 500, { ageSeconds: 500 }), link("a2", "b1", 9)]);
    expect(graph.cost("a1", "b1")).toMatchObject({ ms: 9, origin: "estimated" });
  });

  test("come after costs that were declared between zones, regions, and within a zone", () => {
    const declared = {
      zones: new Map([["a", new Map([["b", 5]])]]),
      regions: new Map([["r1", new Map([["r2", 20]])]]),
      sameZone: 1,
    };
    const nodes = [inZone("a1", "a"), inZone("a2", "a"), inZone("b1", "b"), inZone("y", "a", "r2")];
    const graph = graphOf(nodes, [link("a2", "b1", 90)], { declared });
    expect(graph.cost("a1", "b1")).toMatchObject({ ms: 5, origin: "declared" });
    expect(graph.cost("a1", "a2")).toMatchObject({ ms: 1, origin: "declared" });
    expect(graph.cost("a1", "y")).toMatchObject({ ms: 20, origin: "declared" });
    expect(graph.cost("a2", "b1")).toMatchObject({ ms: 90, origin: "measured" });
    expect(graph.cost("b1", "a1")).toMatchObject({ ms: 90, origin: "estimated" });
  });
});

test("zones and regions that no link joins are as far apart as coordinates say", () => {
  const at = (name: string, zone: string, x: number): ClusterNode => ({
    ...inZone(name, zone),
    coordinate: [x, 0],
  });
  const nodes = [at("a1", "a", 0), at("a2", "a", 2), at("b1", "b", 10), at("b2", "b", 14), node("nowhere")];
  const snapshot = {
    ...clusterSnapshot(nodes, []),
    coordinates: { ageSeconds: 0, medianRelativeError: null, p90RelativeError: null } as CoordinateFit,
  };
  expect(new ClusterGraph(snapshot).zoneCostMsById(0, 2)).toBe(11);
  expect(new ClusterGraph(snapshot).regionCostMsById(0, 2)).toBe(9);
  expect(new ClusterGraph(snapshot).zoneCostMsById(0, 4)).toBeNull();
  const measured = new ClusterGraph({ ...snapshot, links: [link("a1", "b1", 30)] });
  expect(measured.zoneCostMsById(1, 3)).toBe(30);
});

describe("what scoring pays when it doesn't know", () => {
  test("is the median of the known costs, and the worst one for dead pairs", () => {
    const graph = graphOf(
      ["a", "b", "c"].map((name) => node(name)),
      [
        link("a", "b", 1),
        link("b", "a", 5),
        link("a", "c", 100),
        deadLink("c", "a"),
        link("c", "b", 1e6, { ageSeconds: 1e6 }),
      ],
    );
    expect(graph.medianKnownCost()).toBe(5);
    expect(graph.worstKnownCost()).toBe(100);
  });

  test("comes from coordinates where no link and no declaration says anything", () => {
    // On a line at 0, 3 and 11 ms, with heights of 1 ms: 5, 13 and 10 ms apart.
    const at = (name: string, x: number): ClusterNode => node(name, { coordinate: [x, 1] });
    const coordinates = { ageSeconds: 0, medianRelativeError: null, p90RelativeError: null };
    const snapshot = {
      ...clusterSnapshot([at("a", 0), at("b", 3), at("c", 11), node("d")], []),
      coordinates: coordinates as CoordinateFit,
    };
    const graph = new ClusterGraph(snapshot);
    expect(graph.medianKnownCost()).toBe(10);
    expect(graph.worstKnownCost()).toBe(13);
    expect(new ClusterGraph(snapshot, { snapshotAgeSeconds: 1e6 }).medianKnownCost()).toBeNull();
    const measured = new ClusterGraph({ ...snapshot, links: [link("a", "b", 7)] });
    expect(measured.medianKnownCost()).toBe(7);
  });

  test("comes from a fixed sample of the pairs in a large cluster", () => {
    // Uniform on a line of 1,000 ms: the median distance is 1,000 x (1 - 1/sqrt 2) = 293 ms.
    const nodes = Array.from({ length: 1_000 }, (_, id) => node(`n${id}`, { coordinate: [id, 0] }));
    const snapshot = {
      ...clusterSnapshot(nodes, []),
      coordinates: { ageSeconds: 0, medianRelativeError: null, p90RelativeError: null } as CoordinateFit,
    };
    const median = new ClusterGraph(snapshot).medianKnownCost()!;
    expect(Math.abs(median - 293)).toBeLessThan(20);
    expect(new ClusterGraph(snapshot).medianKnownCost()).toBe(median);
  });

  test("is nothing without any known cost", () => {
    const graph = graphOf([node("a"), node("b")], [deadLink("a", "b")]);
    expect(graph.medianKnownCost()).toBeNull();
    expect(graph.worstKnownCost()).toBeNull();
  });
});

test("all ways to look a cost up agree, for any mix of links", () => {
  const names = ["n0", "n1", "n2", "n3", "n4"];
  const anyLink = fc.record({
    source: fc.constantFrom(...names),
    target: fc.constantFrom(...names),
    costMs: fc.option(fc.double({ min: 0, max: 1e4, noNaN: true })),
    method: fc.constantFrom("icmp" as const, "udp_rr" as const, "tcp_rr" as const),
    lossRatio: fc.constantFrom(0, 0.5, 1, null),
    ageSeconds: fc.constantFrom(0, 89, 91, null),
    origin: fc.constantFrom("measured" as const, "declared" as const, "estimated" as const),
  });
  fc.assert(
    fc.property(fc.array(anyLink, { maxLength: 30 }), (drafts) => {
      const nodes = names.map((name, index) => inZone(name, `z${index % 2}`));
      const links = drafts.map(({ source, target, costMs, ...fields }) =>
        link(source, target, costMs, fields),
      );
      const graph = graphOf(nodes, links);
      for (const [to, target] of names.entries()) {
        const column = graph.costsTo(to);
        for (const [from, source] of names.entries()) {
          const cost = graph.cost(source, target);
          const expected = cost.known ? cost.ms : cost.reason === "unreachable" ? Infinity : Number.NaN;
          expect(column[from]).toBe(expected);
          expect(graph.costMsById(from, to)).toBe(expected);
        }
      }
    }),
  );
});

test("ids of many names are found in whatever order the names come", () => {
  const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
  const graph = graphOf(
    names.map((name) => node(name)),
    [],
  );
  const anyNames = fc.array(fc.constantFrom(...names, "stranger", "__proto__"), { maxLength: 40 });
  fc.assert(
    fc.property(anyNames, (asked) => {
      expect([...graph.idsOf(asked)]).toEqual(asked.map((name) => graph.idOf(name)));
    }),
  );
});

test("what a node has available is known only when it is fresh and finite", () => {
  const graph = graphOf(
    [
      node("a", { availableCpuMillicores: 5 }),
      node("b", { availableCpuMillicores: null }),
      node("c", { usageAgeSeconds: 91 }),
      node("d", { usageAgeSeconds: null, availableCpuMillicores: 7 }),
    ],
    [],
  );
  expect([...graph.available("cpuMillicores")]).toEqual([5, Number.NaN, Number.NaN, 7]);
});
