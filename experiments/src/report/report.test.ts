import { describe, expect, it } from "vitest";
import { toCsv } from "../frame/rows.ts";
import type { CellResult } from "../run/result.ts";
import { tiny } from "../run/testing/fakes.ts";
import { verdictsOf } from "../workflows/verdict.ts";
import { AffinityContender } from "../contenders/affinity.ts";
import { PaperContender } from "../contenders/paper.ts";
import { CONTENDERS } from "../scenario/model.ts";
import type { Scenario } from "../scenario/model.ts";
import { agreementsOf } from "./agreement.ts";
import { analyse } from "./analysis.ts";
import { findings } from "./findings.ts";
import { figuresOf } from "./figures.ts";
import { figure, percent } from "./format.ts";
import { html, prose } from "./html.ts";
import { lossesOf, uncomparedOf } from "./losses.ts";
import { niceTicks, scaleOf } from "./plot.ts";
import { reportHtml } from "./report.ts";
import { lossSection } from "./results-section.ts";
import { resultRows } from "./rows.ts";
import { STYLE } from "./style.ts";
import { result } from "./testing/results.ts";

/** The focus is lower at 10 ms, and higher at 100 ms because CPU is short. */
function mixed(): readonly CellResult[] {
  return [1, 2, 3, 4, 5].flatMap((trial) => [
    result(10, "default", trial, { p95: 100 + trial }),
    result(10, "isochrone", trial, { p95: 61 + trial, facts: { trafficCost: 10 } }),
    result(100, "default", trial, { p95: 200 + trial }),
    result(100, "isochrone", trial, {
      p95: 240 + trial,
      facts: { cost: 1, busiest: 1.3 },
      queueingShare: 0.6,
    }),
  ]);
}

describe("the analysis", () => {
  it("compares trial by trial with the baseline", () => {
    const [analysis] = analyse(tiny(), mixed());
    const [near, far] = analysis!.points;
    const ours = near!.contenders.find(({ contender }) => contender === "isochrone")!;
    expect(ours.against!.p95.mean).toBeCloseTo(64 / 103 - 1, 9);
    expect(ours.against!.test.pLess).toBeCloseTo(1 / 32, 9);
    expect(
      far!.contenders.find(({ contender }) => contender === "isochrone")!.against!.p95.low,
    ).toBeGreaterThan(0);
    expect(analysis!.overall).toMatchObject([
      { contender: "isochrone", pairs: 10, points: 2, uncorrected: { lower: 0, higher: 0 } },
    ]);
  });

  it("says where it does not help, and why", () => {
    const [analysis] = analyse(tiny(), mixed());
    const losses = lossesOf(tiny(), analysis!, "isochrone");
    expect(losses.map(({ point }) => point.id)).toStrictEqual(["rttMs=100"]);
    expect(losses[0]!.why).toMatch(/^waits for CPU: its busiest node is asked for 130 % of its CPU/);
  });

  it("says in one sentence at how many points it gains 1 % or more, and at which it doesn't", () => {
    const input = { scenario: tiny(), results: mixed(), quick: false };
    expect(findings(input, analyse(tiny(), mixed()), "isochrone").text).toContain(
      "Against default its p95 is lower by 1 % or more, with 95 % confidence, at 1 of 2 points, and not at rttMs 100",
    );
  });

  it.each([new PaperContender(), new PaperContender("paper-scaled"), new AffinityContender()])(
    "names the paper that $id is from",
    ({ by }) => {
      expect(by).toMatch(/^Algorithm 1 of Marchese and Tomarchio 202[23] \(.+\), /);
    },
  );

  it("counts no point as won that can't be compared", () => {
    const alone = mixed().filter(({ contender }) => contender === "isochrone");
    const analyses = analyse(tiny(), alone);
    expect(uncomparedOf(tiny(), analyses[0]!, "isochrone")).toHaveLength(2);
    expect(lossSection(tiny(), analyses, "isochrone").text).toMatch(/nothing can be said/);
  });

  it("says where both collapse, and where another contender than the baseline is faster", () => {
    const scenario: Scenario = { ...tiny(), contenders: ["default", "paper", "isochrone"] };
    const trials = [1, 2, 3, 4, 5, 6, 7, 8].flatMap((trial) => [
      { ...result(10, "default", trial, { p95: 10_000 }) },
      { ...result(10, "paper", trial, { p95: 90 + trial }) },
      { ...result(10, "isochrone", trial, { p95: 10_000 }) },
    ]);
    const results = trials.map((each): CellResult => ({
      ...each,
      measured: { ...each.measured!, requests: 100, failed: each.contender === "paper" ? 0 : 70 },
    }));
    const analyses = analyse(scenario, results);
    expect(lossesOf(scenario, analyses[0]!, "isochrone")[0]!.why).toMatch(/^both collapse: 70 % of the/);
    expect(lossSection(scenario, analyses, "isochrone").text.replaceAll(/\s+/g, " ")).toContain(
      "is higher than paper's at 1 of 1 point, by Holm's correction",
    );
  });

  it("has another reason for waiting where the busiest node is no busier", () => {
    const busy = [1, 2, 3, 4, 5].flatMap((trial) => [
      result(10, "default", trial, { p95: 100 + trial, facts: { busiest: 0.72 }, queueingShare: 0.1 }),
      result(10, "isochrone", trial, { p95: 900 + trial, facts: { busiest: 0.72 }, queueingShare: 0.9 }),
    ]);
    const [loss] = lossesOf(tiny(), analyse(tiny(), busy)[0]!, "isochrone");
    expect(loss!.why).toMatch(/^waits for 90 % .* no more CPU: bursts/);
  });

  it("leaves trials without a measurement out, and their reasons in", () => {
    const failed: CellResult = { ...mixed()[1]!, failure: "no node", measured: null };
    const [analysis] = analyse(tiny(), [...mixed().slice(2), failed]);
    const ours = analysis!.points.find(({ id }) => id === "rttMs=10")!.contenders[1]!;
    expect(ours.failures).toStrictEqual(["no node"]);
    expect(ours.against!.p95.n).toBe(4);
  });

  it("holds costs against the optimum's", () => {
    const scenario: Scenario = { ...tiny(), contenders: ["default", "isochrone", "optimum"] };
    const [analysis] = analyse(scenario, [
      result(10, "default", 1, { p95: 9, facts: { trafficCost: 200 } }),
      result(10, "isochrone", 1, { p95: 9, facts: { trafficCost: 104 } }),
      result(10, "optimum", 1, { p95: 9, facts: { trafficCost: 100 } }),
    ]);
    expect(analysis!.points[0]!.contenders.map(({ aboveOptimum }) => aboveOptimum)).toStrictEqual([
      1,
      expect.closeTo(0.04),
      null,
    ]);
  });

  it("finds that model and lab agree, or by how much they don't", () => {
    const both = [...mixed(), result(10, "default", 1, { p95: 90, ground: "lab" })];
    const agreements = agreementsOf(tiny(), analyse(tiny(), both));
    expect(agreements).toMatchObject([{ contender: "default", deviation: expect.closeTo(103 / 90 - 1) }]);
  });
});

describe("a verdict", () => {
  it("holds when ours is lower by a test of all pairs", () => {
    const near = mixed().filter(({ labels }) => labels["rttMs"] === 10);
    const [held] = verdictsOf(tiny(), analyse(tiny(), near));
    expect(held!.isHeld).toBe(true);
    const swapped = near.map((each) => ({
      ...each,
      contender: each.contender === "default" ? ("isochrone" as const) : ("default" as const),
    }));
    const [broken] = verdictsOf(tiny(), analyse(tiny(), swapped));
    expect(broken!.isHeld).toBe(false);
    expect(broken!.text).toMatch(
      /^tiny, model: the p95 of isochrone is not shown to be lower than default's \(\+/,
    );
  });

  it("does not hold when equals differ", () => {
    const scenario: Scenario = { ...tiny(), contenders: ["default", "null"] };
    const trials = [1, 2, 3, 4, 5, 6, 7, 8];
    const results = (ours: number): readonly CellResult[] =>
      trials.flatMap((trial) => [
        result(10, "default", trial, { p95: 100 + trial }),
        result(10, "null", trial, { p95: (trial % 2 === 0 ? 100 : 102) + trial + ours }),
      ]);
    expect(verdictsOf(scenario, analyse(scenario, results(0)))[0]!.isHeld).toBe(true);
    expect(verdictsOf(scenario, analyse(scenario, results(20)))[0]!.isHeld).toBe(false);
  });
});

describe("the report", () => {
  const page = reportHtml({
    scenario: { ...tiny(), title: 'A <b> & its "quotes"', threats: ["Few `nodes`.", "Loads < 10 only."] },
    results: mixed(),
    command: "isochrone experiment tiny",
    quick: true,
    machine: { cores: 2 },
    grounds: { model: { kind: "fake" } },
  });

  it("names every threat to validity of its scenario", () => {
    expect(page).toContain("<li>Few <code>nodes</code>.</li>");
    expect(page).toContain("<li>Loads &lt; 10 only.</li>");
  });

  it("is one file that needs nothing else, and runs nothing", () => {
    expect(page).not.toMatch(/<script|<link|<img|@import|url\(|https?:/);
    expect(page.match(/<(h1|h2)>/g)!.length).toBeGreaterThan(4);
  });

  it("has a colour for each contender", () => {
    for (const contender of CONTENDERS)
      expect(STYLE.match(new RegExp(`--${contender}: #`, "g"))).toHaveLength(2);
  });

  it("takes text as text", () => {
    expect(page).toContain("<h1>A &lt;b&gt; &amp; its &quot;quotes&quot;</h1>");
  });

  it("has question, command, plot, losses and every trial", () => {
    for (const part of [
      "Is it so?",
      "isochrone experiment tiny",
      "<svg",
      "waits for CPU",
      "100-isochrone-5-model",
    ])
      expect(page).toContain(part);
    expect(page).not.toMatch(/NaN|undefined|\[object/);
  });

  it("has equal tags opened and closed", () => {
    const tags = ["table", "tr", "td", "svg", "g", "details", "ul", "li", "div", "figure", "text"];
    const counts = (start: string, end: string): readonly string[] =>
      tags.map((tag) => `${tag} ${page.match(new RegExp(`${start}${tag}${end}`, "g"))?.length ?? 0}`);
    expect(counts("</", "\\s*>")).toStrictEqual(counts("<", "[\\s>]"));
  });

  it("goes to CSV with its quotes doubled", () => {
    const csv = toCsv(resultRows([{ ...mixed()[0]!, by: 'a "real", one' }]));
    expect(csv.split("\r\n")[1]).toContain('"a ""real"", one"');
    expect(csv.split("\r\n")[0]!.split(",").slice(0, 5)).toStrictEqual([
      "ground",
      "point",
      "rttMs",
      "contender",
      "trial",
    ]);
  });
});

describe("figures", () => {
  /** Half of the points have changes; only these have a course over time. */
  function points(count: number): Scenario {
    const values = Array.from({ length: count }, (_, index) => `b${index}`).join(", ");
    return tiny((text) =>
      text
        .replace(
          "axes: { rttMs: [10, 100] }",
          `axes: { rttMs: [10], pair: [${values}], what: { still: [], falls: [{ at: 15s, nodeDown: b }] } }`,
        )
        .concat("changes: $what\n"),
    );
  }

  function figures(count: number): string {
    const scenario = points(count);
    const results = scenario.points.flatMap(({ id, labels, changes }) =>
      (["default", "isochrone"] as const).map((contender) => ({
        ...result(10, contender, 1, {
          p95: 9,
          series: changes.map(() => ({
            atSeconds: 10,
            p95: 9,
            mean: 9,
            requests: 1,
            failed: 0,
            cost: 0,
            moves: 0,
          })),
        }),
        point: id,
        labels,
      })),
    );
    return figuresOf(scenario, analyse(scenario, results)[0]!, results).text;
  }

  it("have a course for those points alone at which something changes", () => {
    expect(figures(2)).toContain("Change of the p95 by point");
    expect(figures(2).match(/p95, ms by seconds/g)).toHaveLength(2);
  });

  it("draw no line through what is only numbered", () => {
    const numbered = tiny((text) => text.replace("rttMs: [10, 100]", "rttMs: [10], graph: [3, 1, 2]"));
    const results = numbered.points.flatMap(({ id, labels }) =>
      (["default", "isochrone"] as const).map((contender) => ({
        ...result(10, contender, 1, { p95: 9 }),
        point: id,
        labels,
      })),
    );
    expect(figuresOf(numbered, analyse(numbered, results)[0]!, results).text).toContain(
      "Change of the p95 by point",
    );
  });

  it("have the distribution where points are many, and each point below it", () => {
    const many = figures(10);
    expect(many).not.toContain("by seconds");
    expect(many).toMatch(/Distribution over the points.*<details>.*Change of the p95 by point/s);
  });
});

describe("numbers", () => {
  it.each([
    [742, "742"],
    [74.24, "74.2"],
    [0.0421, "0.042"],
    [-7.4, "\u22127.40"],
    [1_584_000, "1\u202f584\u202f000"],
    [Number.NaN, "\u2013"],
  ])("%d has three figures: %s", (value, text) => {
    expect(figure(value)).toBe(text);
  });

  it("say growth where it matters", () => {
    expect(percent(-0.394)).toBe("\u221239.4\u202f%");
    expect(percent(0.05, true)).toBe("+5.0\u202f%");
    expect(percent(-0.00001, true)).toBe("0.0\u202f%");
  });

  it("have round ticks, and a logarithmic scale where they are far apart", () => {
    expect(niceTicks(0, 430, 5)).toStrictEqual([0, 100, 200, 300, 400]);
    expect(niceTicks(-0.6, 0.1, 7)).toHaveLength(8);
    expect(scaleOf([100, 400]).isLog).toBe(false);
    expect(scaleOf([20, 10_000])).toMatchObject({ isLog: true, low: 10 });
  });

  it("and what stands between backticks becomes code", () => {
    expect(prose("may (`a.b<c`), because").text).toBe("may (<code>a.b&lt;c</code>), because");
  });

  it("and texts become HTML only where they are meant to", () => {
    expect(html`<p>${"<i>"}${html`<i>${["a", "b"]}</i>`}${null}</p>`.text).toBe("<p>&lt;i&gt;<i>ab</i></p>");
  });
});
