import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { listScenarios, scenarioFile } from "./catalogue.ts";
import type { Scenario } from "./model.ts";
import { loadScenario, readScenario } from "./read-scenario.ts";
import { loadQuotes, quoteProblems } from "./testing/quotes.ts";
import type { Quote } from "./testing/quotes.ts";

const { papers, scenarios, streams, kais } = loadQuotes();
const NAMES = listScenarios()
  .filter(({ kind }) => kind === "workflows")
  .map(({ name }) => name);

function quotesOf(name: string): readonly Quote[] {
  return scenarios[name] ?? [];
}

function changed(name: string, from: string, to: string): Scenario {
  const file = scenarioFile(name)!;
  const text = readFileSync(file, "utf8");
  expect(text).toContain(from);
  return readScenario(text.replace(from, to), file);
}

describe("numbers of papers", () => {
  it.each(NAMES)(
    "%s holds the numbers that its quotes name, and has a quote of each figure that it names",
    (name) => {
      expect(quoteProblems(loadScenario(scenarioFile(name)!), quotesOf(name))).toStrictEqual([]);
    },
  );

  it("are quoted of the project's scenarios and of papers in the list", () => {
    expect(NAMES).toEqual(expect.arrayContaining(Object.keys(scenarios)));
    const sources = [scenarios, streams, kais]
      .flatMap((kind) => Object.values(kind))
      .flatMap((quotes) => quotes.map(([at]) => at.split(",")[0]!));
    expect(Object.keys(papers).sort()).toStrictEqual([...new Set(sources)].sort());
  });

  it("are missed where a link has another latency than the figure", () => {
    const scenario = changed("messaging", "b: node2, rttMs: 20", "b: node2, rttMs: 40");
    expect(quoteProblems(scenario, quotesOf("messaging"))).toStrictEqual([
      "cluster.rttMs.node0.node2 must be 20 (001, Figure 3, page 196, latency of node0 and node2), got 40",
    ]);
  });

  it("are missed where one point of several differs", () => {
    const scenario = changed("figure-3", "rttMs: [10, 100, 200]", "rttMs: [10, 100, 200, 300]");
    expect(quoteProblems(scenario, quotesOf("figure-3"))).toStrictEqual([
      "cluster.rttMs.*.* must be 10, 100, 200 (000, section 4, network latencies between nodes), got 10, 100, 200, 300",
    ]);
  });

  it("are missed where a field is gone, and where a text says another number", () => {
    const gone: Quote = ["001, Figure 3", "latency", "20 ms", "cluster.rttMs.node0.node9"];
    const quotes = [...quotesOf("messaging"), gone];
    expect(quoteProblems(loadScenario(scenarioFile("messaging")!), quotes)).toStrictEqual([
      "cluster.rttMs.node0.node9 must be 20 (001, Figure 3, latency), got nothing",
    ]);
    const other = changed("planetlab", "39 % of services", "93 % of services");
    expect(quoteProblems(other, quotesOf("planetlab"))).toStrictEqual([
      "source must say 39 % (Winchester, Table 1, leaf services)",
    ]);
  });

  it("must be quoted for each figure that a scenario names", () => {
    const scenario = loadScenario(scenarioFile("messaging")!);
    const names = (figure: string): string => `names ${figure}, of which there is no quote`;
    expect(quoteProblems(scenario, [])).toStrictEqual([names("figure 3"), names("figure 4")]);
    const more = changed("messaging", "figures 3 and 4", "Figs. 2 to 4, Table 7");
    expect(quoteProblems(more, quotesOf("messaging"))).toStrictEqual([names("table 7"), names("figure 2")]);
  });

  it("must be quoted for each reference, whose text says the same", () => {
    const scenario = changed("redis", "throughput increased by 22 %", "throughput increased by 24 %");
    const [, time] = quotesOf("redis");
    expect(quoteProblems(scenario, [time!])).toStrictEqual([
      "has a reference (throughput) of which there is no quote",
      "the reference's text (throughput) must say 22 %",
    ]);
  });
});
