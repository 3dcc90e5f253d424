// One experiment from its file to its report.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ConductDeps, Conducted, ConductOptions } from "./conducted.ts";
import { createModelTestbed } from "./testbed/model/index.ts";
import { conductBill } from "./bill/conduct.ts";
import { isBillScenario } from "./bill/scenario.ts";
import { conductKais } from "./kais/conduct.ts";
import { isKaisScenario } from "./kais/scenario.ts";
import { analyse } from "./report/analysis.ts";
import { toCsv } from "./report/csv.ts";
import { reportHtml } from "./report/report.ts";
import { cellsOf } from "./run/cells.ts";
import { runExperiment } from "./run/experiment.ts";
import { describeMachine } from "./run/machine.ts";
import type { CellResult } from "./run/result.ts";
import { openStore } from "./run/store.ts";
import { verdictsOf } from "./run/verdict.ts";
import { ScenarioError } from "./scenario/errors.ts";
import type { Scenario } from "./scenario/model.ts";
import { readScenario, readScenarioFile } from "./scenario/read-scenario.ts";
import { conductExample, isStreamExample } from "./streams/example.ts";
import { conductStreams } from "./streams/conduct.ts";
import { isStreamScenario } from "./streams/scenario.ts";

type Facts = Readonly<Record<string, Readonly<Record<string, string | number>>>>;

/**
 * Throws ScenarioError before anything starts; rejects with the signal's reason when it is ended, and goes on
 * there the next time.
 */
export async function conduct(options: ConductOptions, deps: ConductDeps): Promise<Conducted> {
  const { file, quick, out, command } = options;
  const text = readScenarioFile(file);
  if (isKaisScenario(text)) return conductKais(text, options);
  refuseKaisOptions(options);
  if (isBillScenario(text)) return conductBill(text, options, deps);
  if (isStreamExample(text)) return conductExample(text, options);
  if (isStreamScenario(text)) return conductStreams(text, options);
  const scenario = withContenders(withScale(readScenario(text, file, { quick }), options.scale), options);
  refuseEmpty(scenario, options);
  const folder = join(out, quick ? `${scenario.name}-quick` : scenario.name);
  const store = openStore<CellResult>(join(folder, "cells.jsonl"));
  const run = await runExperiment(
    scenario,
    store,
    {
      ...deps,
      // Sockets and processes only where they are wanted.
      labGround: async (settings) => (await import("./testbed/lab/index.ts")).createLabTestbed(settings),
    },
    options,
  );
  const { results } = run;
  const names = new Set(results.map(({ ground }) => ground));
  const grounds: Facts = {
    ...(names.has("model") && scenario.grounds.model !== null
      ? { model: createModelTestbed(scenario.grounds.model).describe() }
      : {}),
    ...(names.has("lab") ? remembered(join(folder, "lab.json"), run.grounds["lab"]) : {}),
  };
  const analyses = analyse(scenario, results);
  const machine = describeMachine();
  const files = {
    html: join(folder, "report.html"),
    csv: join(folder, "results.csv"),
    json: join(folder, "results.json"),
  };
  writeFileSync(files.html, reportHtml({ scenario, results, command, quick, machine, grounds }));
  writeFileSync(files.csv, toCsv(results));
  writeFileSync(
    files.json,
    `${JSON.stringify({ command, machine, grounds, scenario, analyses, results }, null, 1)}\n`,
  );
  return {
    scenario,
    cells: results.length,
    measured: run.measured,
    failed: results.filter(({ failure }) => failure !== null).length,
    verdicts: verdictsOf(scenario, analyses),
    files,
  };
}

function refuseKaisOptions({ file, trace, train }: ConductOptions): void {
  const message = "kind must be kais for --trace and --train";
  if (trace !== undefined || train === true) throw new ScenarioError(file, [{ line: 1, message }]);
}

function refuseEmpty(scenario: Scenario, { file, only, grounds }: ConductOptions): void {
  if (cellsOf(scenario, { only, grounds }).length > 0) return;
  const hasGround = grounds.some((name) => scenario.grounds[name] !== null);
  const wanted = Object.entries(only).map(([name, value]) => `${name}=${value}`);
  const message = hasGround
    ? `points must have ${wanted.join(" and ")}, got none that ${grounds.join(" or ")} measures`
    : `grounds must have ${grounds.join(" or ")}, got none`;
  throw new ScenarioError(file, [{ line: 1, message }]);
}

function withContenders(scenario: Scenario, { file, contenders }: ConductOptions): Scenario {
  if (contenders === undefined) return scenario;
  const known = new Set<string>(scenario.contenders);
  const wrong = contenders.find((id) => !known.has(id));
  const message =
    wrong !== undefined
      ? `contenders must be of ${scenario.contenders.join(", ")}, got ${wrong}`
      : `contenders must have the baseline ${scenario.baseline}, got ${contenders.join(", ")}`;
  if (wrong !== undefined || !contenders.includes(scenario.baseline))
    throw new ScenarioError(file, [{ line: 1, message }]);
  return { ...scenario, contenders: scenario.contenders.filter((id) => contenders.includes(id)) };
}

function withScale(scenario: Scenario, scale: number | undefined): Scenario {
  const { lab } = scenario.grounds;
  if (scale === undefined || lab === null) return scenario;
  return { ...scenario, grounds: { ...scenario.grounds, lab: { ...lab, scale } } };
}

/**
 * What the lab was is known while it runs; a report of results that were all there says what it said then.
 */
function remembered(file: string, facts: Facts[string] | undefined): Facts {
  if (facts !== undefined) {
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, JSON.stringify(facts));
    return { lab: facts };
  }
  return existsSync(file) ? { lab: JSON.parse(readFileSync(file, "utf8")) as Facts[string] } : {};
}
