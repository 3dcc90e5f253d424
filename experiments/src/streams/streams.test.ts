import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { conductText, outFolder, textOf } from "../frame/testing/conduct-text.ts";
import { listScenarios } from "../scenario/catalogue.ts";
import { ScenarioError } from "../scenario/errors.ts";
import { figuresIn, inFieldsUnit, loadQuotes } from "../scenario/testing/quotes.ts";
import { comparison, judgeClaim } from "./report.ts";
import type { StreamResult } from "./cells.ts";
import { readStreamScenario, type StreamPoint, type StreamScenario } from "./scenario.ts";

const NAMES = listScenarios()
  .filter(({ kind }) => kind === "streams")
  .map(({ name }) => name);
const { streams: quotes } = loadQuotes();

function load(name: string): StreamScenario {
  return readStreamScenario(textOf(name), `${name}.yaml`);
}

function valuesOf(points: readonly StreamPoint[], field: string): unknown[] {
  const [part, key] = field.split(".") as ["network" | "jobs", string];
  return [...new Set(points.map((point) => (point[part] as Readonly<Record<string, unknown>>)[key]))];
}

describe("scenarios of streams", () => {
  it.each(NAMES)("%s holds its paper's numbers, and has a quote of each figure that it names", (name) => {
    const { points, source, title, question } = load(name);
    for (const [at, label, printed, field] of quotes[name]!)
      expect({ at, label, values: valuesOf(points, field) }).toEqual({
        at,
        label,
        values: [printed].flat().map(inFieldsUnit),
      });
    const quoted = quotes[name]!.flatMap(([at]) => figuresIn(at));
    for (const figure of figuresIn([source, title, question].join(" "))) expect(quoted).toContain(figure);
  });

  it("say all mistakes at once, each with its line, rule and value", () => {
    const text = textOf("ents-nodes")
      .replace("variance: 0.3", "variance: -1")
      .replace("perSecond: 0.5", "perSecond: 0")
      .replace("baseline: otfa", "baseline: fifo");
    const read = (): unknown => readStreamScenario(text, "mine.yaml");
    expect(read).toThrow(ScenarioError);
    expect(read).toThrow(/network\.variance must be a number .*got -1/);
    expect(read).toThrow(/jobs\.perSecond must be a number \(above 0\), got 0/);
    expect(read).toThrow(/baseline must be one of lr, br, .*got "fifo"/);
  });
});

it("changes of a scenario are read and checked", () => {
  const text = textOf("ents-change").replaceAll("part: 0.2, factor: 0.25", "part: 2");
  expect(() => readStreamScenario(text, "mine.yaml")).toThrow(
    /changes\[0\]\.part must be a number .*got 2[\s\S]*changes\[0\]\.factor must be a number .*got nothing/,
  );
  const { points } = load("ents-change");
  expect(points.map(({ changes }) => changes.map(({ kind }) => kind))).toEqual([
    [],
    ["links"],
    ["node"],
    ["job"],
    ["links", "node", "job"],
  ]);
});

it("the number of jobs is given, or follows from the number of nodes", () => {
  expect(load("ents-packets").points.map(({ jobs }) => jobs.count)).toEqual([6, 18]);
  const text = textOf("ents-packets").replace("perNode: 0.6", "perNode: 0.6, count: 3");
  expect(() => readStreamScenario(text, "mine.yaml")).toThrow("jobs.perNode must not be given beside count");
});

describe("a run", () => {
  it("measures each cell once, goes on where it was, and writes the same report", async () => {
    const out = outFolder();
    const first = await conductText("ents-nodes", { out, contenders: ["otfa", "tp"] });
    expect(first).toMatchObject({ cells: 4, measured: 4, verdicts: [] });
    const second = await conductText("ents-nodes", { out });
    expect(second).toMatchObject({ cells: 6, measured: 2 });
    expect(second.verdicts).toMatchObject([{ isHeld: true }]);
    const report = readFileSync(second.files.html, "utf8");
    expect(report).toContain("times otfa&#39;s; ".replace("&#39;", "'"));
    expect(report).toContain("OTFA is above OTFS at 1 Mbit/s (11a)");
    const again = await conductText("ents-nodes", { out });
    expect(again.measured).toBe(0);
    expect(readFileSync(again.files.html, "utf8")).toBe(report);
    expect(readFileSync(again.files.csv, "utf8").trim().split("\r\n")).toHaveLength(7);
  });

  it("refuses what it can't run before it starts", async () => {
    await expect(conductText("ents-nodes", { out: outFolder(), grounds: ["lab"] })).rejects.toThrow(
      "grounds must have model, got lab: the scenario says nothing of a lab",
    );
  });
});

describe("what a report says", () => {
  const scenario = load("ents-jobs");
  const [few, many] = scenario.points;
  const result = (
    point: StreamPoint,
    contender: StreamResult["contender"],
    throughput: number,
    worst: number,
  ): StreamResult => ({
    hash: "",
    point: point.id,
    labels: point.labels,
    contender,
    network: 0,
    throughput,
    p10: worst,
    worst,
    sinceSubmission: throughput,
    waited: 0,
    neverRan: 0,
    kept: null,
    reroutes: 0,
    moves: 0,
    decisionMs: 1,
  });
  const results = [
    result(few!, "joint", 3, 1),
    result(few!, "otfa", 2, 0.5),
    result(few!, "otfs", 2.5, 0),
    result(many!, "joint", 2, 0.1),
    result(many!, "otfa", 1, 0.2),
    result(many!, "otfs", 0.5, 0),
  ];

  it("names ratios and losses", () => {
    expect(comparison(results, [few!, many!], "otfa")).toBe(
      "joint's mean throughput is 1.50 to 2.00 times otfa's; lower in the 10 % quantile at 1 of 2, the slowest job at 1 of 2.",
    );
  });

  it("counts the points at which a statement of the paper holds", () => {
    const claim = { text: "", statistic: "throughput", higher: "otfa", lower: "otfs", where: {} } as const;
    expect(judgeClaim(results, scenario, claim)).toEqual({ points: 2, held: 1 });
    expect(judgeClaim(results, scenario, { ...claim, where: { jobs: 10 } })).toEqual({ points: 1, held: 0 });
  });
});
