// One test per upstream bug that strict mode fixes (table in docs/network-overhead.md).
import { ClusterGraph } from "@isochrone/topology";
import type { Channel, ClusterNode, DeclaredAreaCosts, Link } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { rejectedNodes } from "../scoring/limits.ts";
import type { PlacementProblem } from "../scoring/problem.ts";
import { channel, link, links, node, problem, workload } from "../testing/problems.ts";
import { createNetworkOverhead, StrictNetworkOverhead, UpstreamNetworkOverhead } from "./network-overhead.ts";

const USE = { cpu: null, memory: null };
const strict = new StrictNetworkOverhead();
const upstream = new UpstreamNetworkOverhead();

const dependency = (source: string, target: string, fields: Partial<Channel> = {}): Channel =>
  channel(source, target, null, { origin: "declared", ...fields });
const at = (name: string, region: string, zone: string): ClusterNode =>
  node(name, null, null, { region, zone });
const raw = (of: PlacementProblem): number[] => [...strict.score(of).raw];
const score = (of: PlacementProblem): number[] => [...strict.score(of).score];

/** p needs q on a. Two nodes are in two zones of one region, the third is in another region. */
function simple(
  between: Link[],
  fields: Partial<PlacementProblem> = {},
  q: Channel[] = [dependency("p", "q")],
) {
  return problem(
    [at("a", "r", "z1"), at("b", "r", "z2"), at("c", "s", "z3")],
    between,
    [workload("p", USE, {}), workload("q", USE, { "q-0": "a" })],
    q,
    fields,
  );
}

describe("faults of the plugin", () => {
  test("unknown costs: neither 0 nor 100, but the median of what is known, and said", () => {
    // b is 4 ms away; the zone of c is unknown; the median of 4 and 4 is 4.
    const of = simple(links(["a", "b", 4]));
    expect(raw(of)).toEqual([0, 4, 4]);
    expect(strict.score(of).explanation.sentences.join(" ")).toContain(
      "1 network costs were unknown and counted as the median known cost, 4.000 ms",
    );
    expect([...upstream.score(of).raw]).toEqual([0, 4, 100]);
  });

  test("an unreachable pair counts as the worst known cost", () => {
    const dead = link("c", "a", null, { lossRatio: 1 });
    expect(raw(simple([...links(["a", "b", 4], ["b", "c", 9]), dead]))).toEqual([0, 4, 9]);
  });

  test("callers count too: who depends on the pod wants it near", () => {
    const of = simple(links(["a", "b", 4], ["a", "c", 8], ["b", "c", 2]), {}, [dependency("q", "p")]);
    expect(raw(of)).toEqual([0, 4, 8]);
    expect([...upstream.score(of).raw]).toEqual([0, 0, 0]);
  });

  test("each direction at its own cost, from the end that starts the exchange", () => {
    const there = [link("b", "a", 4), link("a", "b", 40), link("c", "a", 8), link("a", "c", 8)];
    expect(raw(simple(there))).toEqual([0, 4, 8]);
    expect(raw(simple(there, {}, [dependency("q", "p")]))).toEqual([0, 40, 8]);
  });

  test("nodes of one zone are told apart by their own costs, and a node is free to itself", () => {
    const of = problem(
      [at("a", "r", "z"), at("b", "r", "z"), at("c", "r", "z")],
      links(["a", "b", 0.2], ["a", "c", 5], ["b", "c", 5]),
      [workload("p", USE, {}), workload("q", USE, { "q-0": "a" })],
      [dependency("p", "q")],
    );
    expect(raw(of)).toEqual([0, 0.2, 5]);
    expect([...upstream.score(of).raw]).toEqual([0, 1, 1]);
  });

  test("zones of equal names in two regions, and a zone called like its region, are not confused", () => {
    const of = problem(
      [at("a", "x", "x"), at("b", "y", "x"), at("c", "x", "k")],
      [],
      [workload("p", USE, {}), workload("q", USE, { "q-0": "c" })],
      [dependency("p", "q")],
      {
        cluster: declaredGraph([at("a", "x", "x"), at("b", "y", "x"), at("c", "x", "k")], {
          zones: { x: { k: 3 } },
          regions: { x: { k: 60, y: 50 }, y: { x: 50 } },
        }),
      },
    );
    expect(raw(of)).toEqual([3, 50, 0]);
  });

  test("replicas share their channel's traffic: ten far ones don't outweigh a dependency that carries more", () => {
    const replicas = Object.fromEntries(Array.from({ length: 10 }, (_, k) => [`r-${k}`, "c"]));
    const of = problem(
      [at("a", "r", "z1"), at("b", "r", "z2"), at("c", "r", "z3")],
      links(["a", "c", 10], ["a", "b", 10], ["b", "c", 10]),
      [workload("p", USE, {}), workload("q", USE, { "q-0": "a" }), workload("r", USE, replicas)],
      [channel("p", "q", 900, { maxNetworkCost: 99 }), channel("p", "r", 100, { maxNetworkCost: 99 })],
    );
    // a: r only, 10 x 100; b: both; c: q only, 10 x 900.
    expect(raw(of)).toEqual([1_000, 10_000, 9_000]);
    // The plugin adds one cost per replica, so the ten replicas pull the pod to c.
    expect([...upstream.score(of).raw]).toEqual([100, 110, 10]);
  });

  test("dependencies that carry nothing yet weigh as the median of those that do; without any, all the same", () => {
    const of = (q: number | null, r: number | null) =>
      problem(
        [at("a", "r", "z1"), at("b", "r", "z2")],
        links(["a", "b", 10]),
        [workload("p", USE, {}), workload("q", USE, { "q-0": "a" }), workload("r", USE, { "r-0": "b" })],
        [channel("p", "q", q, { origin: "declared" }), channel("p", "r", r, { origin: "declared" })],
      );
    expect(raw(of(null, null))).toEqual([10, 10]);
    expect(raw(of(300, null))).toEqual([3_000, 3_000]);
    expect(raw(of(300, 100))).toEqual([1_000, 3_000]);
    expect(strict.score(of(null, null)).explanation.sentences.join(" ")).toContain(
      "each dependency weighs the same",
    );
    expect(strict.score(of(300, null)).explanation.sentences.join(" ")).toContain(
      "counted as the median known one, 300 bytes/s",
    );
  });

  test("a limit that isn't set is none", () => {
    expect(upstream.filter(simple(links(["a", "b", 4], ["a", "c", 8]))).size).toBe(2);
    expect(rejectedNodes(strict, simple(links(["a", "b", 4], ["a", "c", 8]))).size).toBe(0);
  });

  test("bandwidth is checked: what a pair of pods needs against what is free between their nodes", () => {
    const free = (bitsPerSecond: number): Partial<Link> => ({
      bandwidthBitsPerSecond: { capacity: null, achieved: null, available: bitsPerSecond },
    });
    const of = simple([link("b", "a", 4, free(200e6)), link("c", "a", 8, free(50e6))], {}, [
      dependency("p", "q", { maxNetworkCost: 99, minBandwidthBitsPerSecond: 100e6 }),
    ]);
    const rejected = rejectedNodes(strict, of);
    expect([...rejected.keys()]).toEqual(["c"]);
    expect(rejected.get("c")).toMatch(
      /^minBandwidth of channel p -> q is 100000000 bit\/s, the bandwidth free from c is 50000000 bit\/s/,
    );
    expect(upstream.filter(of).size).toBe(0);
  });

  test("a placed pod whose node the graph lacks makes its costs unknown, no more", () => {
    const of = problem(
      [at("a", "r", "z1"), at("b", "r", "z2")],
      links(["a", "b", 6]),
      [workload("p", USE, {}), workload("q", USE, { "q-0": "a" }), workload("r", USE, { "r-0": "gone" })],
      [dependency("p", "q"), dependency("p", "r")],
    );
    expect(raw(of)).toEqual([6, 12]);
    expect(upstream.filter(of).size).toBe(2);
  });

  test("no fraction of a point is cut off, and equal nodes are neutral, not all best", () => {
    expect(score(simple(links(["a", "b", 1], ["a", "c", 3])))).toEqual([100, 100 - 100 / 3, 0]);
    const equal = simple(links(["a", "b", 4], ["a", "c", 4]), { candidates: ["b", "c"] });
    expect(score(equal)).toEqual([50, 50]);
    expect([...upstream.score(equal).score]).toEqual([100, 100]);
  });
});

describe("neutral, and says so", () => {
  const known = links(["a", "b", 4], ["a", "c", 8]);
  test.each([
    ["no AppGroup, no traffic", simple(known, {}, []), "its workload has no channel"],
    ["no NetworkTopology, no measurement", simple([]), "no network cost is known"],
    [
      "no cluster graph",
      simple(known, { cluster: { graph: null, reason: "the cluster graph is 1000 s old, more than 900 s" } }),
      "the cluster graph is 1000 s old, more than 900 s",
    ],
    [
      "no workflow",
      simple(known, { pod: { namespace: "shop", name: "x", workload: null } }),
      "the pod belongs to no workflow",
    ],
    [
      "nothing placed",
      problem(
        [at("a", "r", "z1")],
        known,
        [workload("p", USE, {}), workload("q", USE, {})],
        [dependency("p", "q")],
      ),
      "none of the pods it talks to is placed, or there is no traffic",
    ],
  ] as [string, PlacementProblem, string][])("%s", (_, of, reason) => {
    const table = strict.score(of);
    expect(new Set(table.score)).toEqual(new Set([50]));
    expect([...table.raw].every(Number.isNaN)).toBe(true);
    expect(table.explanation.neutral).toEqual([{ part: "network", reason }]);
  });
});

test("infeasible nodes have 0, and don't stretch the scale", () => {
  const of = simple(links(["a", "b", 4], ["a", "c", 80]), { infeasible: new Map([["c", "cordoned"]]) });
  expect(score(of)).toEqual([100, 0, 0]);
});

test("nodes that the graph doesn't know are not shown with a cost", () => {
  const of = simple(links(["a", "b", 4]), { candidates: ["a", "ghost"] });
  expect(raw(of)).toEqual([0, Number.NaN]);
});

test("strict is the default; settings that make no sense are refused", () => {
  expect(createNetworkOverhead().mode).toBe("strict");
  expect(createNetworkOverhead("upstream")).toBeInstanceOf(UpstreamNetworkOverhead);
  expect(() => createNetworkOverhead("strict", -1)).toThrow(
    "bytesPerRequest must be a finite number of at least 0, got -1",
  );
});

type Rows = Readonly<Record<string, Readonly<Record<string, number>>>>;

function declaredGraph(
  of: ClusterNode[],
  costs: { zones: Rows; regions: Rows },
): PlacementProblem["cluster"] {
  const rows = (from: Rows): Map<string, Map<string, number>> =>
    new Map(Object.entries(from).map(([origin, to]) => [origin, new Map(Object.entries(to))]));
  const declared: DeclaredAreaCosts = { zones: rows(costs.zones), regions: rows(costs.regions), sameZone: 1 };
  const snapshot = {
    version: 1,
    observedAt: "2026-01-01T00:00:00.000Z",
    windowSeconds: 30,
    nodes: of,
    links: [],
  };
  return { graph: new ClusterGraph(snapshot, { declared }), ageSeconds: 1 };
}
