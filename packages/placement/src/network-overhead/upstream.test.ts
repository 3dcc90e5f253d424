// Upstream mode against the plugin's test table (networkoverhead_test.go, 903da7df) and KEP-260's example A1.
import { ClusterGraph } from "@isochrone/topology";
import type { ClusterNode, DeclaredAreaCosts, Workload } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import type { PlacementProblem } from "../scoring/problem.ts";
import { allCandidates, bestRow, rankedTable } from "../scoring/score-table.ts";
import { channel, link, node, problem, workload } from "../testing/problems.ts";
import { UpstreamNetworkOverhead } from "./network-overhead.ts";

const strategy = new UpstreamNetworkOverhead();
const USE = { cpu: null, memory: null };

type Rows = Readonly<Record<string, Readonly<Record<string, number>>>>;

function declared(zones: Rows, regions: Rows): DeclaredAreaCosts {
  const rows = (of: Rows): Map<string, Map<string, number>> =>
    new Map(Object.entries(of).map(([origin, costs]) => [origin, new Map(Object.entries(costs))]));
  return { zones: rows(zones), regions: rows(regions), sameZone: 1 };
}

function nodes(labels: Readonly<Record<string, readonly [string, string]>>): ClusterNode[] {
  return Object.entries(labels).map(([name, [region, zone]]) =>
    node(name, null, null, { region: region || null, zone: zone || null }),
  );
}

function graph(of: ClusterNode[], costs: DeclaredAreaCosts | null): PlacementProblem["cluster"] {
  const snapshot = {
    version: 1,
    observedAt: "2026-01-01T00:00:00.000Z",
    windowSeconds: 300,
    nodes: of,
    links: [],
  };
  return { graph: new ClusterGraph(snapshot, costs === null ? {} : { declared: costs }), ageSeconds: 1 };
}

const dependency = (source: string, target: string, maxNetworkCost: number | null = null) =>
  channel(source, target, null, { origin: "declared", maxNetworkCost });

/** The plugin's "basic" topology and AppGroup: p1 needs p2, p2 needs p3. Limits default to 0. */
function basic(
  pod: string,
  placed: Readonly<Record<string, string>>,
  limit: number | null = null,
): PlacementProblem {
  const of = nodes({
    "n-1": ["us-west-1", "Z1"],
    "n-2": ["us-west-1", "Z1"],
    "n-3": ["us-west-1", "Z2"],
    "n-4": ["us-west-1", "Z2"],
    "n-5": ["us-east-1", "Z3"],
    "n-6": ["us-east-1", "Z3"],
    "n-7": ["us-east-1", "Z4"],
    "n-8": ["us-east-1", "Z4"],
  });
  const costs = declared(
    { Z1: { Z2: 5 }, Z2: { Z1: 5 }, Z3: { Z4: 10 }, Z4: { Z3: 10 } },
    { "us-west-1": { "us-east-1": 20 }, "us-east-1": { "us-west-1": 20 } },
  );
  const workloads = ["p1", "p2", "p3"].map((name) =>
    workload(name, USE, placed[name] === undefined ? {} : { [`${name}-0`]: placed[name] }),
  );
  return problem(of, [], workloads, [dependency("p1", "p2", limit), dependency("p2", "p3", limit)], {
    pod: { namespace: "shop", name: "new", workload: pod },
    cluster: graph(of, costs),
  });
}

const PLACED = { p1: "n-2", p2: "n-5", p3: "n-1" };
const scores = (of: PlacementProblem) => {
  const table = strategy.score(of);
  return { before: [...table.raw], after: [...table.score] };
};

describe("the plugin's own table", () => {
  test.each([
    ["p1", [20, 20, 20, 20, 0, 1, 10, 10], [0, 0, 0, 0, 100, 95, 50, 50]],
    ["p2", [0, 1, 5, 5, 20, 20, 20, 20], [100, 95, 75, 75, 0, 0, 0, 0]],
    ["p3", [0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]],
  ])("scores for %s", (pod, before, after) => {
    expect(scores(basic(pod, PLACED))).toEqual({ before, after });
  });

  const FILTERED = { p1: "n-2", p2: "n-5", p3: "n-8" };
  const words = (name: string): string =>
    `Node ${name} does not meet several network requirements from Workload dependencies: Satisfied: 0 Violated: 1`;
  test.each([
    ["p1", "n-1", words("n-1")],
    ["p1", "n-6", undefined],
    ["p2", "n-5", words("n-5")],
    ["p2", "n-7", undefined],
    ["p3", "n-1", undefined],
    ["p10", "n-1", undefined],
  ])("filter for %s on %s", (pod, name, reason) => {
    expect(strategy.filter(basic(pod, FILTERED)).get(name)).toBe(reason);
  });
});

test("KEP-260's A1: P2 on N1 with a limit of 15 leaves the four nodes of its region, which the cost then orders", () => {
  const of = basic("p1", { p2: "n-1", p3: "n-4" }, 15);
  const rejected = strategy.filter(of);
  expect([...rejected.keys()]).toEqual(["n-5", "n-6", "n-7", "n-8"]);
  const left = strategy.score({ ...of, candidates: of.candidates.filter((name) => !rejected.has(name)) });
  expect({ raw: [...left.raw], score: [...left.score] }).toEqual({
    raw: [0, 1, 5, 5],
    score: [100, 80, 0, 0],
  });
  expect(left.explanation.best).toBe("n-1");
});

test("a limit that is left out is 0 to the plugin, and 10,000 none: P2 on N5, 20 from us-west-1 and 10 from Z4", () => {
  const rejectedBy = (limit: number | null): string[] => [
    ...strategy.filter(basic("p1", { p2: "n-5" }, limit)).keys(),
  ];
  // n-5 itself and n-6 in its zone satisfy any limit; all other nodes cost more than 0.
  expect(rejectedBy(null)).toEqual(["n-1", "n-2", "n-3", "n-4", "n-7", "n-8"]);
  expect(rejectedBy(10_000)).toEqual([]);
});

// d runs on one node, its limit is 8. Costs: za -> zb 7, zb -> za 9, r1 -> r2 30, r2 -> r1 missing.
describe("each test of the code", () => {
  const of = nodes({
    a1: ["r1", "za"],
    a2: ["r1", "za"],
    b1: ["r1", "zb"],
    c1: ["r2", "zc"],
    bare: ["", ""],
    bare2: ["", ""],
    regional: ["r1", ""],
    zonal: ["", "za"],
  });
  const costs = declared({ za: { zb: 7 }, zb: { za: 9 } }, { r1: { r2: 30 } });
  const placedOn = (...on: readonly string[]): PlacementProblem =>
    problem(
      of,
      [],
      [workload("p", USE, {}), workload("d", USE, Object.fromEntries(on.map((host, k) => [`d-${k}`, host])))],
      [dependency("p", "d", 8)],
      { cluster: graph(of, costs) },
    );
  const costAndVotes = (on: readonly string[], candidate: string): [number, string | undefined] => {
    const placed = placedOn(...on);
    const row = placed.candidates.indexOf(candidate);
    const reason = strategy.filter(placed).get(candidate);
    return [strategy.score(placed).raw[row]!, reason?.replace(/.*Satisfied/, "Satisfied")];
  };
  const violated = "Satisfied: 0 Violated: 1";

  test.each([
    ["the node itself is free", ["a1"], "a1", 0, undefined],
    ["also without labels", ["bare"], "bare", 0, undefined],
    [
      "a pod on a node with neither label is violated at 100, on its equals too",
      ["bare"],
      "bare2",
      100,
      violated,
    ],
    ["and elsewhere", ["bare"], "a1", 100, violated],
    ["the same region and zone", ["a1"], "a2", 1, undefined],
    ["another zone, from the candidate's: within the limit", ["b1"], "a1", 7, undefined],
    ["the other way: beyond it", ["a1"], "b1", 9, violated],
    ["another region", ["c1"], "a1", 30, violated],
    ["an entry that is missing costs 100 and has no vote", ["a1"], "c1", 100, undefined],
    ["a candidate without labels finds no entry", ["a1"], "bare", 100, undefined],
    ["equal regions, no zone on either side but one", ["regional"], "a1", 100, undefined],
    ["equal zones in different regions are not compared", ["zonal"], "a1", 100, undefined],
    ["more violated than satisfied", ["a1", "a2", "b1"], "b1", 18, "Satisfied: 1 Violated: 2"],
    ["as many satisfied: it passes", ["a1", "b1"], "b1", 9, undefined],
  ])("%s", (_, on, candidate, cost, votes) => {
    expect(costAndVotes(on, candidate)).toEqual([cost, votes]);
  });

  test("candidates that the graph doesn't know are nodes without labels", () => {
    const unknown = { ...placedOn("bare"), candidates: ["a1", "ghost"] };
    expect([...strategy.score(unknown).raw]).toEqual([100, 100]);
    const rejected = strategy.filter(unknown);
    expect(rejected.has("ghost")).toBe(true);
    expect(rejected.get("ghost")).toContain("Node ghost does not meet");
    expect([...rejected].map(([name]) => name)).toEqual(["a1", "ghost"]);
    expect(rejected.size).toBe(2);
  });

  test("a pod on a node that the snapshot lacks fails the attempt for every node", () => {
    const lost = placedOn("gone");
    expect(strategy.filter(lost).size).toBe(lost.candidates.length);
    expect(strategy.filter(lost).get("a1")).toBe(
      'pod hostname not found: nodeinfo not found for node name "gone"',
    );
    expect(strategy.score(lost).explanation.neutral).toHaveLength(1);
  });

  test("a limit that isn't set is 0", () => {
    const placed = placedOn("b1");
    const unset = problem(
      of,
      [],
      [...placed.workflow.graph!.workloads] as Workload[],
      [dependency("p", "d")],
      {
        cluster: placed.cluster,
      },
    );
    expect(strategy.filter(unset).has("a1")).toBe(true);
  });

  test("a zone called like its region finds the entries of both, the zone's first", () => {
    const named = nodes({ x1: ["x", "x"], x2: ["x", "y"], x3: ["y", "y"] });
    const same = problem(
      named,
      [],
      [workload("p", USE, {}), workload("d", USE, { "d-0": "x2", "d-1": "x3" })],
      [dependency("p", "d", 10)],
      { cluster: graph(named, declared({ x: { y: 3 } }, { x: { y: 40 } })) },
    );
    // To x2: the zone's entry x -> y. To x3: the plugin looks up the region's, but the map holds the zone's.
    expect(strategy.score(same).raw[0]).toBe(6);
  });
});

describe("all nodes equal, at 0 and none rejected", () => {
  const of = basic("p1", PLACED);
  test.each([
    ["a pod of no AppGroup", { pod: { namespace: "shop", name: "new", workload: null } }],
    ["a workload without dependencies", { pod: { namespace: "shop", name: "new", workload: "p3" } }],
    ["nothing placed", basic("p1", {})],
    ["no AppGroup", { workflow: { graph: null, reason: "no workflow graph was read yet" } }],
    ["no NetworkTopology", { cluster: graph([...of.cluster.graph!.nodes], null) }],
    ["no cluster graph", { cluster: { graph: null, reason: "no cluster graph was read yet" } }],
  ] as [string, Partial<PlacementProblem>][])("%s", (_, fields) => {
    const equal = { ...of, ...fields };
    expect(new Set(strategy.score(equal).score)).toEqual(new Set([0]));
    expect(new Set(strategy.score(equal).raw)).toEqual(new Set([0]));
    expect(strategy.filter(equal).size).toBe(0);
    expect(strategy.score(equal).explanation.neutral[0]?.part).toBe("network");
  });
});

test("equal costs above 0 are all 100", () => {
  const of = { ...basic("p1", PLACED), candidates: ["n-1", "n-2"] };
  expect([...strategy.score(of).score]).toEqual([100, 100]);
});

test("what was seen in traffic only is no dependency, and only those of the pod count, not its callers", () => {
  const of = nodes({ a: ["r1", "za"], b: ["r1", "zb"] });
  const observed = problem(
    of,
    [],
    [workload("p", USE, {}), workload("q", USE, { "q-0": "b" }), workload("r", USE, { "r-0": "b" })],
    [channel("p", "q", 1_000), dependency("r", "p", 1)],
    { cluster: graph(of, declared({ za: { zb: 5 } }, {})) },
  );
  expect([...strategy.score(observed).raw]).toEqual([0, 0]);
});

test("without declared costs, measured ones count as NetworkTopology holds them: medians of areas, whole, 1 to 99", () => {
  const of = nodes({ a: ["r1", "za"], b: ["r1", "zb"], c: ["r2", "zc"], d: ["r3", "zd"] });
  const measured = problem(
    of,
    [link("a", "b", 2.2), link("b", "a", 2.2), link("a", "c", 250), link("b", "d", 0.2)],
    [workload("p", USE, {}), workload("q", USE, { "q-0": "a" })],
    [dependency("p", "q", 15)],
  );
  expect([...strategy.score(measured).raw]).toEqual([0, 3, 99, 1]);
  expect([...strategy.filter(measured).keys()]).toEqual(["c"]);
});

test("infeasible nodes are scored as the others, and never the best", () => {
  const of = { ...basic("p1", PLACED), infeasible: new Map([["n-5", "cordoned"]]) };
  const table = strategy.score(of);
  expect(table.score[4]).toBe(100);
  expect(table.names[bestRow(table)]).toBe("n-6");
  expect(table.explanation.best).toBe("n-6");
  const ranked = allCandidates(rankedTable(table)).map(({ name }) => name);
  expect(ranked.slice(0, 3)).toEqual(["n-6", "n-7", "n-8"]);
  expect(ranked.at(-1)).toBe("n-5");
});
