import { EndpointPolicy } from "@isochrone/dispatch/learned";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ConductOptions } from "../frame/experiment.ts";
import { conductText, outFolder, textOf } from "../frame/testing/conduct-text.ts";
import { listScenarios } from "../scenario/catalogue.ts";
import { ScenarioError } from "../scenario/errors.ts";
import { figuresIn, inFieldsUnit, loadQuotes } from "../scenario/testing/quotes.ts";
import { judgeClaim, lossesOf } from "./figures.ts";
import { comparison } from "./report.ts";
import type { KaisResult } from "./cells.ts";
import { readKaisScenario, type KaisScenario } from "./scenario.ts";

const NAMES = listScenarios()
  .filter(({ kind }) => kind === "kais")
  .map(({ name }) => name);
const { kais: quotes } = loadQuotes();
const load = (name: string, quick = false): KaisScenario =>
  readKaisScenario(textOf(name), `${name}.yaml`, quick);

describe("scenarios of requests", () => {
  it("are three, which all can be read, also for a quick run", () => {
    expect(NAMES).toEqual(["hot-site", "kais-milliseconds", "kais"]);
    for (const name of NAMES) {
      expect(load(name).points.length).toBeGreaterThan(0);
      expect(load(name, true).runs).toBe(1);
    }
  });

  it("have the patterns, loads and sizes of the paper", () => {
    const { points } = load("kais");
    const of = (id: string) => points.find((point) => point.id === `case=${id}`)!.system;
    expect(of("P4")).toMatchObject({
      sites: 5,
      nodesPerSite: [8],
      slotSeconds: 0.25,
      frameSeconds: 25,
      perSecond: 12,
    });
    expect(["P1", "P2", "P3"].map((id) => of(id).pattern)).toEqual(["P1", "P2", "P3"]);
    expect([of("P4-6"), of("P4-16")].map(({ perSecond }) => perSecond)).toEqual([6, 16]);
    const { sites, nodesPerSite } = of("nodes-100");
    expect(nodesPerSite.reduce((sum, count) => sum + count, 0)).toBe(100);
    expect(sites).toBe(nodesPerSite.length);
  });

  it.each(NAMES)("%s holds its paper's numbers, and has a quote of each figure that it names", (name) => {
    const { points, source, title, question, claims } = load(name);
    const said = claims.map(({ text }) => text).join("; ");
    const valuesOf = (field: string): unknown[] =>
      points.flatMap(({ system: { sites, nodesPerSite, slotSeconds, frameSeconds } }) => {
        const each = Array.from({ length: sites }, (_, site) => nodesPerSite[site % nodesPerSite.length]!);
        const nodes = each.reduce((sum, count) => sum + count, 0);
        return Object.entries({ sites, nodes, slotSeconds, frameSeconds }).flatMap(([key, value]) =>
          key === field ? [value] : [],
        );
      });
    for (const [, , printed, field] of quotes[name]!) {
      const value = inFieldsUnit(printed);
      const isClaim = field === "claims";
      const held: readonly unknown[] = isClaim ? (said.match(/paper [\d.]+/g) ?? []) : valuesOf(field);
      expect(held).toContain(isClaim ? `paper ${(1 + Number(value)).toFixed(3)}` : value);
    }
    const quoted = quotes[name]!.flatMap(([at]) => figuresIn(at));
    for (const figure of figuresIn([source, title, question].join(" "))) expect(quoted).toContain(figure);
  });

  it("say all mistakes at once, each with its rule and value", () => {
    const text = textOf("kais")
      .replace("perSecond: 12", "perSecond: -1")
      .replace("slot: 250ms", "slot: soon")
      .replace("baseline: greedy", "baseline: best");
    const read = (): unknown => readKaisScenario(text, "mine.yaml");
    expect(read).toThrow(ScenarioError);
    expect(read).toThrow(/system\.perSecond must be a number .*got -1/);
    expect(read).toThrow(/system\.slot must be a duration .*got "soon"/);
    expect(read).toThrow(/baseline must be one of .*got "best"/);
  });
});

const rows = Array.from(
  { length: 3_000 },
  (_, at) => `M1,1,j_1,1,Terminated,${at},${at + 5},${10 * (1 + (at % 12))},0.2`,
);

describe("a run", () => {
  it("measures each cell once, goes on where it was, and shows directions", async () => {
    const out = outFolder();
    const contenders = ["greedy", "greedy-cloud", "null"];
    const first = await conductText("kais", { out, contenders });
    expect(first).toMatchObject({ cells: 3, measured: 3 });
    const second = await conductText("kais", { out });
    expect(second).toMatchObject({ cells: 7, measured: 4 });
    expect(second.verdicts).toMatchObject([{ isHeld: true }, { isHeld: true }]);
    expect(second.figures).toHaveLength(7);
    expect(second.figures![0]).toEqual({
      point: "case=P4",
      contender: "greedy",
      inTime: expect.any(Number),
      movedGb: expect.any(Number),
    });
    const report = readFileSync(second.files.html, "utf8");
    expect(report).toContain("Where it does not help");
    expect(report).toContain("if nobody ever waits");
    expect(readFileSync(second.files.csv, "utf8").trim().split("\r\n")).toHaveLength(8);
    const again = await conductText("kais", { out });
    expect(again.measured).toBe(0);
    expect(readFileSync(again.files.html, "utf8")).toBe(report);
  }, 120_000);

  it("takes another trace, and tells what it left out", async () => {
    const out = outFolder();
    const trace = join(out, "trace.csv");
    writeFileSync(trace, [...rows, "M1,1,j_1,1,Terminated,5000,4000,50,0.2"].join("\n"));
    const told = "1 of 3001 rows left out: end before start 1";
    const contenders = ["greedy", "isochrone"];
    const conducted = await conductText("kais", { out, contenders, trace });
    expect(conducted).toMatchObject({ scenario: { name: "kais-trace-quick" }, notes: [told], measured: 2 });
    expect(readFileSync(conducted.files.html, "utf8")).toContain(told);
  }, 120_000);

  it("trains both nets first when asked, uses them, and trains no more the next time", async () => {
    const out = outFolder();
    const text = textOf("kais")
      .replace(/decisions: \{ kais.*?\}/, "decisions: { kais: 1000, kais-improved: 1000, endpoints: 4000 }")
      .replace("  sites: 5\n  nodesPerSite: 8", "  sites: 2\n  nodesPerSite: 2")
      .replace("  frame: 25s", "  frame: 5s");
    const told: string[] = [];
    const options = {
      out,
      train: true,
      contenders: ["greedy", "kais", "kais-improved"],
      onProgress: ({ what }: { readonly what: string }) => told.push(what),
    };
    const improved = text.replace("contenders: [greedy,", "contenders: [kais-improved, greedy,");
    const first = await conductText("kais", options, improved);
    expect(first).toMatchObject({ cells: 3, measured: 3 });
    expect(told.some((what) => /^training kais: \d+ decisions/.test(what))).toBe(true);
    expect(readFileSync(first.files.html, "utf8")).toContain("<h3>Training</h3>");
    expect(told.findLast((what) => what.startsWith("training"))).toMatch(
      /^training endpoints: 4000 decisions, 0\.\d+ in time/,
    );
    const weights = readFileSync(join(out, "kais-training/endpoint-weights.json"), "utf8");
    expect(EndpointPolicy.read(weights, "weights").net.sizes.at(-1)).toBe(1);
    told.length = 0;
    expect(await conductText("kais", options, improved)).toMatchObject({ measured: 0 });
    expect(told.filter((what) => what.startsWith("training"))).toEqual([]);
  }, 120_000);

  it("of a hot site has PreferSameZone below hints, and hints below the dispatcher, each in its bounds", async () => {
    const contenders = ["prefer-same-zone", "hints", "isochrone"];
    const { figures } = await conductText(
      "hot-site",
      { out: outFolder(), quick: false, contenders },
      textOf("hot-site").replace("runs: 6", "runs: 1"),
    );
    const inTime = (id: string): number => figures!.find(({ contender }) => contender === id)!.inTime;
    expect(inTime("prefer-same-zone")).toBeLessThanOrEqual(0.65);
    expect(inTime("hints")).toBeGreaterThanOrEqual(0.75);
    expect(inTime("isochrone")).toBeGreaterThanOrEqual(0.92);
  }, 120_000);

  it("refuses what it can't run before it starts", async () => {
    const out = outFolder();
    const trace = join(out, "short.csv");
    writeFileSync(trace, rows.slice(0, 3).join("\n"));
    const run = (over: Partial<ConductOptions>): Promise<unknown> => conductText("kais", { out, ...over });
    await expect(run({ grounds: ["lab"] })).rejects.toThrow("grounds must have model, got lab");
    const missing = join(out, "none.csv");
    await expect(run({ trace: missing })).rejects.toThrow(`${missing}:1: --trace must be a file, got`);
    await expect(run({ trace: out })).rejects.toThrow("--trace must be a file, got");
    await expect(run({ trace })).rejects.toThrow("must have 1000 usable rows or more, got 3");
    const untrained = conductText("hot-site", { out, train: true });
    await expect(untrained).rejects.toThrow("training must be given to train, got nothing");
    const other = conductText("ents-nodes", { out, train: true });
    await expect(other).rejects.toThrow("kind must be kais for --trace and --train");
  });
});

describe("what a report says", () => {
  const scenario = load("kais");
  const [point] = scenario.points;
  const result = (contender: KaisResult["contender"], inTime: number, movedGb: number): KaisResult => ({
    hash: "",
    point: point!.id,
    labels: point!.labels,
    contender,
    run: 0,
    inTime,
    frames: [],
    movedGb,
    forwardedGb: movedGb,
    imagesGb: 0,
    own: 0,
    other: 0,
    cloud: 0,
    added: 0,
    removed: 0,
    dispatchMs: 0,
    orchestrateMs: 0,
    nobodyWaits: 1,
  });
  const results = [
    result("isochrone", 0.9, 6),
    result("greedy", 0.6, 8),
    result("gsp-ss", 0.95, 9),
    result("kais", 0.75, 5),
  ];

  it("names ratios", () => {
    expect(comparison(results, [point!], "greedy")).toBe(
      "isochrone has 1.50 times greedy's share of requests in time and moves 0.750 times its bytes.",
    );
  });

  it("names losses: fewer in time, or more bytes", () => {
    expect(lossesOf(scenario, results).map(({ contender }) => contender)).toEqual(["gsp-ss", "kais"]);
  });

  it("judges statements by their bounds", () => {
    const claim = { text: "", figure: "inTime", of: "kais", than: "greedy", where: { case: "P4" } } as const;
    const held = (least: number | null, most: number | null): number =>
      judgeClaim(scenario, results, { ...claim, least, most }).held;
    expect([held(1.2, null), held(1.3, null), held(null, 1.3), held(null, 1.2)]).toEqual([1, 0, 1, 0]);
  });
});
