import { describe, expect, it } from "vitest";
import type { CellResult } from "../run/result.ts";
import { tiny } from "../run/testing/fakes.ts";
import type { ContenderId, Scenario } from "../scenario/model.ts";
import { analyse } from "./analysis.ts";
import { reportHtml } from "./report.ts";
import { result } from "./testing/results.ts";
import type { Given } from "./testing/results.ts";

const TRIALS = [1, 2, 3, 4, 5, 6, 7, 8];

/** Results per trial. Some trials are slower for all contenders. */
function trialsOf(
  rttMs: number,
  contender: ContenderId,
  p95: number,
  facts: Given["facts"] = {},
): CellResult[] {
  return TRIALS.map((trial) => result(rttMs, contender, trial, { p95: p95 * (1 + trial / 100), facts }));
}

function unsolved(rttMs: number, contender: ContenderId, trials = TRIALS): CellResult[] {
  return trials.map((trial) => ({
    ...result(rttMs, contender, trial, { p95: 1 }),
    failure: "unsolved within 60 s",
    measured: null,
  }));
}

function among(contenders: readonly ContenderId[]): Scenario {
  return { ...tiny(), contenders };
}

function textOf(scenario: Scenario, results: readonly CellResult[]): string {
  const page = reportHtml({ scenario, results, command: "x", quick: false, machine: {}, grounds: {} });
  return page
    .replace(/<style>.*<\/style>/s, "")
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ");
}

describe("figures over points", () => {
  const scenario = among(["default", "paper", "isochrone"]);
  const easy = [
    ...trialsOf(10, "default", 100),
    ...trialsOf(10, "paper", 50),
    ...trialsOf(10, "isochrone", 60),
  ];
  const hard = [...trialsOf(100, "default", 200), ...trialsOf(100, "isochrone", 240)];

  it("are over those that all have, so that nobody looks good by lacking the hard ones", () => {
    const [analysis] = analyse(scenario, [...easy, ...hard, ...unsolved(100, "paper")]);
    expect(analysis!.standings).toMatchObject([{ contenders: scenario.contenders, points: ["rttMs=10"] }]);
    expect(analysis!.lacked).toStrictEqual([{ contender: "paper", points: 1 }]);
    expect(analysis!.overall.map(({ contender, p95, pairs }) => [contender, p95.mean, pairs])).toStrictEqual([
      ["paper", expect.closeTo(-0.5), 8],
      ["isochrone", expect.closeTo(-0.4), 8],
    ]);
    expect(analysis!.points[1]!.contenders[2]!.against!.p95.mean).toBeCloseTo(0.2);
  });

  it("leave a point out where trials are missing: means over trials would be over other points", () => {
    const some = [...trialsOf(100, "paper", 100).slice(1), ...unsolved(100, "paper", [1])];
    const [analysis] = analyse(scenario, [...easy, ...hard, ...some]);
    expect(analysis!.standings[0].points).toStrictEqual(["rttMs=10"]);
  });

  it("are said with how many they are, and who lacks which", () => {
    const text = textOf(scenario, [...easy, ...hard, ...unsolved(100, "paper")]);
    expect(text).toContain("1 of 2 points (default, paper, isochrone)");
    expect(text).toContain("For want of a placement paper lacks 1 of 2.");
    expect(text).toContain("in the geometric mean over the 1 of 2 points that all contenders have");
  });

  it("don't let those that schedule rest on what integer programming can solve", () => {
    const withOptimum = among(["default", "isochrone", "optimum"]);
    const results = [
      ...easy.filter(({ contender }) => contender !== "paper"),
      ...hard,
      ...trialsOf(10, "optimum", 50),
      ...unsolved(100, "optimum"),
    ];
    const [analysis] = analyse(withOptimum, results);
    expect(
      analysis!.standings.map(({ points, overall }) => [
        points.length,
        overall.map(({ contender, p95 }) => [contender, p95.mean]),
      ]),
    ).toStrictEqual([
      [2, [["isochrone", expect.closeTo(Math.sqrt(1.2 * 0.6) - 1)]]],
      [
        1,
        [
          ["isochrone", expect.closeTo(-0.4)],
          ["optimum", expect.closeTo(-0.5)],
        ],
      ],
    ]);
    expect(analysis!.direct.map(({ other, points }) => [other, points])).toStrictEqual([
      ["default", 2],
      ["optimum", 1],
    ]);
  });

  it("beside the source's are over the same points for all", () => {
    const references = [{ text: "Figure 3", where: {}, change: -0.39, contender: "paper" as const }];
    const withOptimum: Scenario = { ...among(["default", "isochrone", "optimum"]), references };
    const results = [
      ...easy.filter(({ contender }) => contender !== "paper"),
      ...hard,
      ...trialsOf(10, "optimum", 50),
      ...unsolved(100, "optimum"),
    ];
    expect(textOf(withOptimum, results)).toContain("Figure 3 p95 \u221239.0 % \u221210.0 % \u2013");
    const withPaper: Scenario = { ...scenario, references };
    const lacking = [...easy, ...hard, ...unsolved(100, "paper")];
    expect(textOf(withPaper, lacking)).toContain("Figure 3 p95 \u221239.0 % \u221250.0 % \u221240.0 %");
  });

  it("say nothing of a contender that has no point, and go on without it", () => {
    const [analysis] = analyse(scenario, [
      ...easy.filter(({ contender }) => contender !== "paper"),
      ...unsolved(10, "paper"),
    ]);
    expect(analysis!.overall.map(({ contender }) => contender)).toStrictEqual(["isochrone"]);
    expect(analysis!.lacked).toStrictEqual([{ contender: "paper", points: 1 }]);
  });
});

describe("points that count as lower or higher", () => {
  /** 5 of 6 trials: the p of each single point is 0.03. */
  const points = [10, 20, 30];
  const results = points.flatMap((rttMs) =>
    (["default", "isochrone"] as const).flatMap((contender) =>
      trialsOf(rttMs, contender, contender === "default" ? 100 : rttMs === 30 ? 120 : 60).slice(0, 6),
    ),
  );

  it("are those that Holm's correction over the points leaves", () => {
    const [overall] = analyse(tiny(), results)[0]!.overall;
    expect(overall).toMatchObject({
      uncorrected: { lower: 2, higher: 1 },
      lower: 0,
      higher: 0,
      undecided: 3,
      leastPointP: 1 / 32,
    });
    const one = results.filter(({ labels }) => labels["rttMs"] === 30);
    expect(analyse(tiny(), one)[0]!.overall[0]).toMatchObject({ lower: 0, higher: 1, undecided: 0 });
  });

  it("are said to be out of reach where so few trials can decide none", () => {
    const beyond = /no p below 0\.031, corrected for 3 points 0\.094: .* none is told apart/;
    expect(textOf(tiny(), results)).toMatch(beyond);
    const near = [...trialsOf(10, "default", 100), ...trialsOf(10, "isochrone", 60)];
    expect(textOf(tiny(), near)).not.toContain("none is told apart");
  });
});

describe("isochrone against the others", () => {
  const scenario = among(["default", "paper", "isochrone"]);
  const results = [10, 100].flatMap((rttMs) => [
    ...trialsOf(rttMs, "default", 100),
    ...trialsOf(rttMs, "paper", 50),
    ...trialsOf(rttMs, "isochrone", rttMs === 10 ? 45 : 60),
  ]);

  it("is compared directly, trial by trial and point by point", () => {
    const direct = analyse(scenario, results)[0]!.direct;
    expect(direct.map(({ other }) => other)).toStrictEqual(["default", "paper"]);
    expect(direct[1]).toMatchObject({
      contender: "isochrone",
      points: 2,
      pairs: 16,
      // The geometric mean of 1.2 and 0.9.
      p95: { mean: expect.closeTo(Math.sqrt(1.08) - 1), low: expect.closeTo(Math.sqrt(1.08) - 1) },
      lower: 1,
      higher: 1,
      undecided: 0,
      // One pair per point. Two pairs in opposite directions show nothing.
      pointTest: { n: 2, pTwoSided: 1 },
      test: { n: 16 },
    });
    expect(textOf(scenario, results)).toContain("isochrone directly against each of the others");
  });

  it("has no table where it doesn't take part", () => {
    const others = results.filter(({ contender }) => contender !== "isochrone");
    expect(textOf(among(["default", "paper"]), others)).not.toContain("directly against");
  });
});

describe("costs beside the optimum's", () => {
  const scenario = among(["default", "paper", "isochrone", "optimum"]);
  const results = [
    ...trialsOf(10, "default", 100, { trafficCost: 200 }),
    ...trialsOf(10, "paper", 100, { trafficCost: 80 }),
    ...trialsOf(10, "isochrone", 100, { trafficCost: 104 }),
    ...trialsOf(10, "optimum", 100, { trafficCost: 100 }),
    ...trialsOf(100, "default", 100, { trafficCost: 400 }),
    ...trialsOf(100, "paper", 100, { trafficCost: 102 }),
    ...trialsOf(100, "isochrone", 100, { trafficCost: 100 }),
    ...trialsOf(100, "optimum", 100, { trafficCost: 100 }),
  ];

  it("don't count as close to it when they are below", () => {
    const text = textOf(scenario, results);
    expect(text).toContain("default 0 0 2 +200 % +300 %");
    expect(text).toContain("paper 1, down to \u221220.0 %: keeps fewer rules 1 0 \u22129.0 % +2.0 %");
    expect(text).toContain("isochrone 0 2 0 +2.0 % +4.0 %");
    expect(text).toContain("need not be the least in traffic cost alone");
  });

  it("are averaged over points that all have", () => {
    const some = results.map((each): CellResult =>
      each.contender === "paper" && each.labels["rttMs"] === 100 ? { ...each, measured: null } : each,
    );
    const text = textOf(scenario, some);
    expect(text).toContain("over the 1 point of 2 at which integer programming solved");
    expect(text).toContain("default 0 0 1 +100 % +100 %");
  });

  it("leave out of the mean, for all alike, points at which the optimum's is nothing", () => {
    const free = [
      ...results,
      ...trialsOf(1, "default", 100, { trafficCost: 5 }),
      ...(["paper", "isochrone", "optimum"] as const).flatMap((id) =>
        trialsOf(1, id, 100, { trafficCost: 0 }),
      ),
    ];
    const text = textOf(scenario, free);
    expect(text).toContain("default 0 0 3 +200 % \u221e");
    expect(text).toContain("isochrone 0 3 0 +2.0 % +4.0 %");
  });
});

describe("what limits the result", () => {
  const results = [...trialsOf(10, "default", 100), ...trialsOf(10, "isochrone", 60)];

  it("says of every run that its intervals are narrow", () => {
    expect(textOf(tiny(), results)).toContain("cover less than the 95 %");
  });

  it("says who can use what is declared", () => {
    const text = textOf(among(["default", "paper", "affinity", "upstream", "isochrone"]), results);
    expect(text).toContain("Isochrone and upstream place by it; affinity places by it and by the types");
    expect(text).toContain("paper can't: its sum is of measured traffic");
    expect(text).not.toContain("ingress");
    const scenario = tiny((given) => given.replace("entry: web", "entry: web\n  usersAt: a"));
    expect(textOf({ ...scenario, contenders: ["default", "paper"] }, results)).toContain(
      "paper sees the traffic of the ingress",
    );
  });
});
