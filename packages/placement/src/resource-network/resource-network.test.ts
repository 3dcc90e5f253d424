import { describe, expect, test } from "vitest";
import { ColumnPool } from "../scoring/columns.ts";
import type { PlacementProblem } from "../scoring/problem.ts";
import { createStrategy } from "../profile.ts";
import { ResourceNetwork } from "./resource-network.ts";
import { allCandidates, bestRow, keptRows } from "../scoring/score-table.ts";
import type { ScoreTable } from "../scoring/score-table.ts";
import { channel, handWorked, link, links, node, problem, workload } from "../testing/problems.ts";

const raw = new ResourceNetwork("raw");
const normalized = new ResourceNetwork("normalized");

const rounded = (column: Float64Array): number[] => [...column].map((value) => Number(value.toFixed(6)));
const part = (table: ScoreTable, name: string): number[] => rounded(table.parts[name]!);
const use = { cpu: 500, memory: 2e8 };

function twoPods(
  nodes: ReturnType<typeof node>[],
  between: ReturnType<typeof link>[],
  q: string,
): PlacementProblem {
  const workloads = [workload("p", use, {}), workload("q", use, { "q-1": q })];
  return problem(nodes, between, workloads, [channel("p", "q", 100)]);
}

describe("Algorithm 1, worked by hand", () => {
  // cpu % = (2000-500)/500, (1000-500)/500, (500-500)/500; memory % = (1000-200)/200, (600-200)/200, 0.
  test("the resource part is the weighted sum of the two percentages", () => {
    const table = raw.score(handWorked());
    expect(part(table, "cpu")).toEqual([300, 100, 0]);
    expect(part(table, "memory")).toEqual([400, 200, 0]);
    expect(part(table, "resource")).toEqual([350, 150, 0]);
  });

  // n1: 10 x 1000 + 40 x 500; n2: 0 + 25 x 500; n3: 25 x 1000 + 0.
  test("the network part is minus the sum of cost times traffic, both directions of a channel counted", () => {
    expect(part(raw.score(handWorked()), "network")).toEqual([-30_000, -12_500, -25_000]);
  });

  // Line 6: the cost from scored node n1 to q's node n2 is 10, back it is 30; on n2 itself it is 0.
  test.each([
    ["p starts the exchange", channel("p", "q", 100)],
    ["q starts the exchange", channel("q", "p", 100)],
  ])("the cost is the scored node's own where costs are asymmetric, and %s", (_, between) => {
    const nodes = [node("n1", 2000, 1e9), node("n2", 2000, 1e9)];
    const workloads = [workload("p", use, {}), workload("q", use, { "q-1": "n2" })];
    const costs = [link("n1", "n2", 10), link("n2", "n1", 30)];
    expect(part(raw.score(problem(nodes, costs, workloads, [between])), "network")).toEqual([-1_000, 0]);
  });

  test.each([
    [{ alpha: 0.5, beta: 0.5, gamma: 0.5, delta: 0.5 }, [-14_825, -6_175, -12_500]],
    [{ alpha: 0.5, beta: 0.5, gamma: 0.9, delta: 0.1 }, [-2_685, -1_115, -2_500]],
    [{ alpha: 1, beta: 0, gamma: 1, delta: 0 }, [300, 100, 0]],
    [{ alpha: 0.25, beta: 0.75, gamma: 1, delta: 0 }, [375, 175, 0]],
    [{ alpha: 0, beta: 1, gamma: 0, delta: 1 }, [-30_000, -12_500, -25_000]],
  ])("with weights %j the score is the paper's sum", (weights, expected) => {
    const table = new ResourceNetwork("raw", weights).score(handWorked());
    expect(rounded(table.raw)).toEqual(expected);
    const [n1, n2, n3] = expected as [number, number, number];
    const [least, most] = [Math.min(n1, n2, n3), Math.max(n1, n2, n3)];
    expect(rounded(table.score)).toEqual(
      expected.map((value) => Number(((100 * (value - least)) / (most - least)).toFixed(6))),
    );
  });

  // resource 350, 150, 0 and network -30,000, -12,500, -25,000, each over its own range.
  test.each([
    [0.5, [50, (50 * 150) / 350 + 50, (50 * 5) / 17.5]],
    [0.25, [25, (25 * 150) / 350 + 75, (75 * 5) / 17.5]],
  ])("scaled brings the paper's two parts to 0..100 and adds them, gamma %d", (gamma, expected) => {
    const weights = { alpha: 0.5, beta: 0.5, gamma, delta: 1 - gamma };
    const table = new ResourceNetwork("scaled", weights).score(handWorked());
    expect(part(table, "resource")).toEqual([350, 150, 0]);
    expect(part(table, "network")).toEqual([-30_000, -12_500, -25_000]);
    expect(rounded(table.score)).toEqual(rounded(Float64Array.from(expected)));
    expect([rounded(table.raw), table.mode]).toEqual([rounded(table.score), "scaled"]);
  });

  // cpu 2000/2500, 1000/1500, 500/1000; memory 1000/1200, 600/800, 200/400; least of both in 0..1: 1, 5/9, 0.
  test("normalized brings each part to 0..1 over the candidates before they are weighed", () => {
    const table = normalized.score(handWorked());
    expect(part(table, "cpu")).toEqual([80, 66.666667, 50]);
    expect(part(table, "memory")).toEqual([83.333333, 75, 50]);
    expect(part(table, "resource")).toEqual([80, 66.666667, 50]);
    expect(rounded(table.score)).toEqual([50, 77.777778, 14.285714]);
    expect(rounded(table.raw)).toEqual([-14_960, -6_216.666667, -12_475]);
    expect(table.names[bestRow(table)]).toBe("n2");
  });

  test("the explanation names the part that decided, and the ages of the graphs", () => {
    const { explanation } = normalized.score(handWorked());
    expect(explanation).toMatchObject({
      best: "n2",
      decidedBy: "network",
      neutral: [],
      inputs: { clusterVersion: 7, clusterAgeSeconds: 2, workflowVersion: 8, workflowAgeSeconds: 3 },
    });
    expect(explanation.sentences.join(" ")).toMatch(
      /n2 has the highest score, 77\.8.*network part decided \(weight 0\.5\)/,
    );
  });
});

describe("nodes that are nearly equal", () => {
  // CPU: 1600/1700 and 1615/1715 stay free; the far node is 10 ms away.
  const nearly = problem(
    [node("near", 1_600, 1e9), node("far", 1_615, 1e9)],
    links(["near", "far", 10]),
    [workload("p", { cpu: 100, memory: null }, {}), workload("q", use, { "q-1": "near" })],
    [channel("p", "q", 1_000)],
  );

  test("aren't told apart by 1 % of free CPU as by a whole network", () => {
    // Resource: 0.5 -+ half the difference over a tenth of the larger; network: 1 and 0.
    const [near, far] = [1_600 / 1_700, 1_615 / 1_715];
    const share = (far - near) / (0.1 * far) / 2;
    const table = normalized.score(nearly);
    expect(rounded(table.score)).toEqual([
      Number((50 * (0.5 - share) + 50).toFixed(6)),
      Number((50 * (0.5 + share)).toFixed(6)),
    ]);
    expect(table.explanation.best).toBe("near");
  });

  test("are where minSpread is 0", () => {
    const strategy = createStrategy({ strategy: "resource-network", settings: { minSpread: 0 } });
    expect(rounded(strategy.score(nearly).score)).toEqual([50, 50]);
  });
});

describe("replicas", () => {
  const nodes = [node("n1", 1_000, 1e9), node("n2", 1_000, 1e9), node("n3", 1_000, 1e9)];
  const between = links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 25]);

  test("share a channel's traffic equally over all pairs", () => {
    // 2 replicas of p and 2 of q: 1000 / 4 per pair. n1: (10 + 40) x 250; n2: 25 x 250; n3: 25 x 250.
    const table = raw.score(
      problem(
        nodes,
        between,
        [workload("p", use, { "p-1": null, "p-2": "n1" }), workload("q", use, { "q-1": "n2", "q-2": "n3" })],
        [channel("p", "q", 1_000)],
      ),
    );
    expect(part(table, "network")).toEqual([-12_500, -6_250, -6_250]);
  });

  test("that aren't placed yet keep their share of the traffic", () => {
    const workloads = [workload("p", use, {}), workload("q", use, { "q-1": "n2", "q-2": null })];
    const table = raw.score(problem(nodes, between, workloads, [channel("p", "q", 1_000)]));
    expect(part(table, "network")).toEqual([-5_000, 0, -12_500]);
  });

  test("talk to each other, but never to the pod itself", () => {
    // p-1 on n3 is the pod being placed: only p-2 on n2 counts, both directions of 400 / (2 x 2).
    const workloads = [workload("p", use, { "p-1": "n3", "p-2": "n2" })];
    const table = raw.score(problem(nodes, between, workloads, [channel("p", "p", 400)]));
    expect(part(table, "network")).toEqual([-2_000, 0, -5_000]);
  });

  test("that were decided a moment ago count as placed, until the graph shows them elsewhere", () => {
    const workloads = [workload("p", use, {}), workload("q", use, { "q-1": null, "q-2": "n3" })];
    const assumed = [
      { workload: "q", name: "q-1", node: "n2" },
      { workload: "q", name: "q-2", node: "n1" },
    ];
    const table = raw.score(problem(nodes, between, workloads, [channel("p", "q", 200)], { assumed }));
    expect(part(table, "network")).toEqual([-5_000, -2_500, -2_500]);
  });
});

describe("the direction of a cost in normalized mode, where raw takes the scored node's", () => {
  const nodes = ["a", "b", "c"].map((name) => node(name, 1_000, 1e9));
  const workloads = [workload("p", use, {}), workload("q", use, { "q-1": "c" })];
  const lopsided = [link("a", "c", 3), link("c", "a", 7), link("b", "c", 11)];

  test("is from the candidate when the pod starts the exchange", () => {
    const given = problem(nodes, lopsided, workloads, [channel("p", "q", 100)]);
    expect(part(normalized.score(given), "network")).toEqual([-300, -1_100, 0]);
    expect(part(raw.score(given), "network")).toEqual([-300, -1_100, 0]);
  });

  test("is to the candidate when the peer starts it, and the other one where that isn't known", () => {
    const given = problem(nodes, lopsided, workloads, [channel("q", "p", 100)]);
    expect(part(normalized.score(given), "network")).toEqual([-700, -1_100, 0]);
    expect(part(raw.score(given), "network")).toEqual([-300, -1_100, 0]);
  });

  test("stays with the peer when its node can't reach the candidate, though the candidate can reach it", () => {
    const dead = link("c", "a", null, { lossRatio: 1 });
    const between = [link("a", "c", 3), dead, link("b", "c", 11)];
    const given = problem(nodes, between, workloads, [channel("q", "p", 100)]);
    expect(part(normalized.score(given), "network")).toEqual([-1_100, -1_100, 0]);
  });
});

describe("a strategy that has scored before", () => {
  const q = (on: string): { workload: string; name: string; node: string }[] => [
    { workload: "q", name: "q-2", node: on },
  ];

  test("gives what a new one gives, whatever was decided or changed in between", () => {
    const strategy = new ResourceNetwork("normalized");
    const base = handWorked();
    const problems = [
      base,
      { ...base, assumed: q("n1") },
      { ...base, assumed: q("n3") },
      { ...base, assumed: [{ workload: "p", name: "p-2", node: "n3" }] },
      { ...base, candidates: ["n3", "stranger", "n1"] },
      { ...handWorked(), pod: { ...base.pod, workload: "q" } },
      base,
    ];
    for (const each of problems) {
      const fresh = new ResourceNetwork("normalized").score(each);
      const again = strategy.score(each);
      expect(allCandidates(again)).toEqual(allCandidates(fresh));
      expect(again.explanation.sentences).toEqual(fresh.explanation.sentences);
    }
  });

  test("tells the replicas of a workload that talks to itself apart by their names", () => {
    const strategy = new ResourceNetwork("raw");
    const base = problem(
      [node("a", 1_000, 1e9), node("b", 1_000, 1e9)],
      links(["a", "b", 10]),
      [workload("p", use, { "p-1": "a", "p-2": "b" })],
      [channel("p", "p", 400)],
    );
    const networkOf = (name: string): number[] =>
      part(strategy.score({ ...base, pod: { ...base.pod, name } }), "network");
    expect(networkOf("p-1")).toEqual([-2_000, 0]);
    expect(networkOf("p-2")).toEqual([0, -2_000]);
  });

  test("leaves tables and explanations as they are when it works in a pool of the caller's", () => {
    const pool = new ColumnPool();
    const table = normalized.score(handWorked(), pool);
    const kept = keptRows(table);
    const [before, said] = [allCandidates(kept), table.explanation.sentences];
    normalized.score(handWorked({ candidates: ["n3", "n1", "n2"] }), pool);
    expect(allCandidates(kept)).toEqual(before);
    expect(kept.explanation.sentences).toEqual(said);
  });
});

describe("unknown network costs", () => {
  const nodes = ["a", "b", "c", "d"].map((name) => node(name, 1_000, 1e9));

  test("count as the median known cost, and the explanation says so", () => {
    const table = raw.score(twoPods(nodes, [link("a", "d", 2), link("b", "d", 6), link("a", "b", 100)], "d"));
    expect(part(table, "network")).toEqual([-200, -600, -600, 0]);
    expect(table.explanation.sentences.join(" ")).toMatch(
      /1 network costs were unknown.*median known cost, 6\.000 ms/,
    );
  });

  test("of stale links count as the median too", () => {
    const table = raw.score(
      twoPods(nodes, [link("a", "d", 2), link("b", "d", 500, { ageSeconds: 1_000 })], "d"),
    );
    expect(part(table, "network")[1]).toBe(-200);
  });

  test("of unreachable pairs count as the worst known cost: a dead link must not look average", () => {
    const dead = link("c", "d", null, { lossRatio: 1, ageSeconds: null });
    const table = raw.score(
      twoPods(nodes, [link("a", "d", 2), link("b", "d", 6), dead, link("a", "b", 100)], "d"),
    );
    expect(part(table, "network")[2]).toBe(-10_000);
    expect(table.explanation.sentences.join(" ")).toMatch(
      /1 node pairs were unreachable.*worst known cost, 100\.000 ms/,
    );
  });

  test("make the part neutral when no cost is known at all", () => {
    const table = normalized.score(twoPods(nodes, [], "d"));
    expect(table.explanation.neutral).toEqual([{ part: "network", reason: "no network cost is known" }]);
    expect([...table.score]).toEqual([50, 50, 50, 50]);
  });

  test("towards a node that the graph doesn't hold leave its namesake candidate free of cost", () => {
    const stranger = twoPods(nodes, [link("a", "b", 3)], "stranger");
    const table = raw.score({ ...stranger, candidates: ["a", "stranger"] });
    expect(rounded(table.score)[1]).toBeGreaterThan(rounded(table.score)[0]!);
    expect(table.raw[1]).toBeNaN();
  });
});

describe("unknown resources", () => {
  const between = links(["a", "b", 1], ["b", "c", 1], ["a", "c", 1]);
  const flow = (cpu: number | null, memory: number | null): ReturnType<typeof workload>[] => [
    workload("p", { cpu, memory }, {}),
  ];
  const three = [node("a", 1_000, 1e9), node("b", 3_000, 1e9), node("c", null, 1e9)];

  test("of a node count as the median of the others", () => {
    const table = raw.score(problem(three, between, flow(1_000, 1e9), []));
    expect(part(table, "cpu")).toEqual([0, 200, 100]);
    expect(table.explanation.sentences.join(" ")).toContain("available CPU of 1 nodes is not known");
  });

  test("of a node are not taken from a stale sample", () => {
    const stale = [three[0]!, three[1]!, node("c", 9e9, 1e9, { usageAgeSeconds: 1_000 })];
    expect(part(raw.score(problem(stale, between, flow(1_000, 1e9), [])), "cpu")).toEqual([0, 200, 100]);
  });

  test.each([[0], [null]])("a pod that uses %j CPU is measured by its request", (cpu) => {
    const requested = {
      namespace: "shop",
      name: "p-1",
      workload: "p",
      requests: { cpuMillicores: 500, memoryBytes: null },
    };
    const table = raw.score(problem(three, between, flow(cpu, 1e9), [], { pod: requested }));
    expect(part(table, "cpu")).toEqual([100, 500, 300]);
    expect(table.explanation.sentences.join(" ")).toContain("its request stands in");
  });

  test.each([
    [0, /CPU is neutral: its use is 0/],
    [null, /CPU is neutral: its use is not known/],
  ])("a pod that uses %j CPU and requests none leaves CPU out, without dividing by zero", (cpu, words) => {
    const table = raw.score(problem(three, between, flow(cpu, 5e8), []));
    expect(table.parts["cpu"]).toBeNull();
    expect(part(table, "resource")).toEqual([50, 50, 50]);
    expect(table.explanation.sentences.join(" ")).toMatch(words);
  });

  test("of everything make the part neutral", () => {
    const table = normalized.score(problem(three, between, flow(null, null), []));
    expect(table.explanation.neutral.map((neutral) => neutral.part)).toEqual(["resource", "network"]);
    expect([...table.score]).toEqual([50, 50, 50]);
    expect(allCandidates(table)[0]).toMatchObject({ raw: null, parts: { cpu: null, network: null } });
  });

  test("pods decided a moment ago are deducted from what a node has", () => {
    const assumedUse = new Map([["b", { cpuMillicores: 1_000, memoryBytes: 0 }]]);
    const table = raw.score(problem(three, between, flow(1_000, 1e9), [], { assumedUse }));
    expect(part(table, "cpu")).toEqual([0, 100, 50]);
  });
});

describe("graphs that can't be used", () => {
  test("make their parts neutral, and the explanation says why", () => {
    const table = normalized.score(
      handWorked({ cluster: { graph: null, reason: "the cluster graph is 500 s old" } }),
    );
    expect([...table.score]).toEqual([50, 50, 50]);
    expect(table.explanation.neutral).toHaveLength(2);
    expect(table.explanation.sentences.join(" ")).toContain(
      "No cluster graph was used: the cluster graph is 500 s old",
    );
  });

  test("without a workflow graph a request still balances the load", () => {
    const pod = {
      namespace: "shop",
      name: "p-1",
      workload: "p",
      requests: { cpuMillicores: 500, memoryBytes: 2e8 },
    };
    const table = normalized.score(handWorked({ pod, workflow: { graph: null, reason: "it is stale" } }));
    // CPU 500 of 3,500 is 1/7, memory 200 of 1,800 MB is 1/9. With three more such pods, the fair shares are
    // 4/7 and 4/9. CPU 2000/2875, 1000/1875, 500/1375; memory 1000/1450, 600/1050, 200/650.
    const [first, second, third] = [1_000 / 1_450, 1_000 / 1_875, 200 / 650];
    const middle = (second - third) / (first - third);
    expect(rounded(table.score)).toEqual([75, Number((25 + 50 * middle).toFixed(6)), 25]);
    expect(table.explanation.neutral).toEqual([{ part: "network", reason: "it is stale" }]);
  });
});

describe("infeasible nodes", () => {
  const table = normalized.score(handWorked({ infeasible: new Map([["n2", "it is cordoned"]]) }));

  test("are scored raw, have score 0 and their reason, and never win", () => {
    expect(allCandidates(table)[1]).toMatchObject({
      name: "n2",
      feasible: false,
      reason: "it is cordoned",
      raw: expect.closeTo(-18_650 / 3, 9) as number,
      score: 0,
    });
    expect(table.explanation.best).toBe("n1");
  });

  test("don't stretch the scale of the others", () => {
    expect(rounded(table.score)).toEqual([50, 0, 50]);
  });

  test("leave no best node when there is no other", () => {
    const none = normalized.score(handWorked({ candidates: ["n2"], infeasible: new Map([["n2", "no"]]) }));
    expect(bestRow(none)).toBe(-1);
    expect(none.explanation.best).toBeNull();
  });
});
