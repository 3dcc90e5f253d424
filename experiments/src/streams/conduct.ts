// One experiment with streams from its file to its report.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadSolver } from "../contenders/highs.ts";
import type { ConductOptions, Conducted } from "../conducted.ts";
import { toRows } from "../report/csv.ts";
import { describeMachine } from "../run/machine.ts";
import { openStore } from "../run/store.ts";
import type { Verdict } from "../run/verdict.ts";
import { ScenarioError } from "../scenario/errors.ts";
import { comparison, FOCUS, meanOf, streamReport } from "./report.ts";
import { runStreams, type StreamResult } from "./run.ts";
import { readStreamScenario, type StreamContender, type StreamScenario } from "./scenario.ts";

/** @param text of the scenario's file. Throws ScenarioError before anything starts. */
export async function conductStreams(text: string, options: ConductOptions): Promise<Conducted> {
  const { file, quick, out, command, only } = options;
  const scenario = chosen(readStreamScenario(text, file, quick), options);
  const folder = join(out, quick ? `${scenario.name}-quick` : scenario.name);
  const store = openStore<StreamResult>(join(folder, "cells.jsonl"));
  const began = performance.now();
  const { results, measured } = await runStreams({
    scenario,
    store,
    only,
    solve: await loadSolver(),
    onProgress: (done, total, what) => {
      const perCell = (performance.now() - began) / 1_000 / Math.max(1, done);
      options.onProgress({
        done,
        total,
        share: done / total,
        secondsLeft: done === 0 ? null : (total - done) * perCell,
        what,
      });
    },
    signal: options.signal,
  });
  if (results.length === 0)
    throw new ScenarioError(file, [{ line: 1, message: "points must have the wanted labels, got none" }]);
  const files = {
    html: join(folder, "report.html"),
    csv: join(folder, "results.csv"),
    json: join(folder, "results.json"),
  };
  const machine = describeMachine();
  writeFileSync(files.html, streamReport({ scenario, results, command, quick, machine }));
  writeFileSync(files.csv, csvOf(results));
  writeFileSync(files.json, `${JSON.stringify({ command, machine, scenario, results }, null, 1)}\n`);
  return {
    scenario: { name: scenario.name },
    cells: results.length,
    measured,
    failed: 0,
    verdicts: verdictsOf(scenario, results),
    files,
  };
}

function chosen(scenario: StreamScenario, { file, contenders, grounds }: ConductOptions): StreamScenario {
  const refuse = (message: string): never => {
    throw new ScenarioError(file, [{ line: 1, message }]);
  };
  if (!grounds.includes("model")) refuse(`grounds must have model, got ${grounds.join(", ")}`);
  if (contenders === undefined) return scenario;
  const wrong = contenders.find((id) => !scenario.contenders.some((known) => known === id));
  if (wrong !== undefined) refuse(`contenders must be of ${scenario.contenders.join(", ")}, got ${wrong}`);
  return { ...scenario, contenders: scenario.contenders.filter((id) => contenders.includes(id)) };
}

/**
 * What a quick run must show: the focus has a higher mean than each other contender that shares the network.
 */
function verdictsOf(scenario: StreamScenario, results: readonly StreamResult[]): Verdict[] {
  const points = scenario.points.filter(({ id }) => results.some(({ point }) => point === id));
  const { contenders, baseline } = scenario;
  if (!contenders.includes(FOCUS) || !contenders.includes(baseline) || baseline === FOCUS) return [];
  const mean = (id: string, contender: StreamContender): number =>
    meanOf(results, id, contender, "throughput").mean;
  const isHeld = points.every(({ id }) => mean(id, FOCUS) > mean(id, baseline));
  return [{ isHeld, text: `${scenario.name}: ${comparison(results, points, baseline)}` }];
}

function csvOf(results: readonly StreamResult[]): string {
  const axes = [...new Set(results.flatMap(({ labels }) => Object.keys(labels)))];
  const figures = [
    "throughput",
    "p10",
    "worst",
    "sinceSubmission",
    "waited",
    "neverRan",
    "kept",
    "reroutes",
    "moves",
    "decisionMs",
  ] as const;
  return toRows([
    ["point", ...axes, "contender", "network", ...figures, "hash"],
    ...results.map((result) => [
      result.point,
      ...axes.map((axis) => result.labels[axis] ?? ""),
      result.contender,
      result.network,
      ...figures.map((key) => result[key] ?? ""),
      result.hash,
    ]),
  ]);
}
