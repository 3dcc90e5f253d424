import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createContender } from "../contenders/index.ts";
import type { Contender } from "../contenders/port.ts";
import type { Bench, Measurement } from "../frame/bench.ts";
import {
  chosenContenders,
  contenderDeps,
  folderOf,
  refuse,
  type ConductDeps,
  type ConductOptions,
  type Experiment,
  type Findings,
  type ReportContext,
} from "../frame/experiment.ts";
import { analyse } from "../report/analysis.ts";
import { resultRows } from "../report/rows.ts";
import { reportHtml } from "../report/report.ts";
import type { ContenderId, LabSettings, Scenario } from "../scenario/model.ts";
import { readScenario } from "../scenario/read-scenario.ts";
import { createModelTestbed } from "../testbed/model/index.ts";
import type { Testbed } from "../testbed/port.ts";
import { CellPool } from "../run/cell-pool.ts";
import { runCell } from "../run/cell-run.ts";
import { cellHash, cellsOf, weightOf } from "../run/cells.ts";
import type { Cell } from "../run/cells.ts";
import type { CellResult } from "../run/result.ts";
import { verdictsOf } from "./verdict.ts";

type Facts = Readonly<Record<string, string | number>>;

const RESULTS = "cells.jsonl";
const LAB = "lab.json";

export function openWorkflows(text: string, options: ConductOptions, deps: ConductDeps): Experiment {
  const { file, quick, scale } = options;
  const scenario = withContenders(withScale(readScenario(text, file, { quick }), scale), options);
  refuseEmpty(scenario, options);
  return {
    name: scenario.name,
    folder: folderOf(scenario.name, options),
    run: (bench, about) => run(scenario, bench, about, options, deps),
  };
}

async function run(
  scenario: Scenario,
  bench: Bench,
  about: ReportContext,
  options: ConductOptions,
  deps: ConductDeps,
): Promise<Findings> {
  const given = contenderDeps(deps);
  const contender = (id: ContenderId): Contender => createContender(id, given);
  const settings = JSON.stringify(deps.product);
  const by = new Map(scenario.contenders.map((id) => [id, contender(id).by]));
  const pool = new CellPool(deps);
  const lab = new LazyLab();
  const measurements = (
    ground: Cell["ground"]["name"],
    measure: (cell: Cell) => Promise<CellResult>,
  ): Measurement<CellResult>[] =>
    cellsOf(scenario, options)
      .filter((cell) => cell.ground.name === ground)
      .map((cell) => ({
        hash: cellHash(cell, by.get(cell.contender)!, settings),
        what: `${ground} ${cell.point.id} ${cell.contender} trial ${cell.trial}`,
        weight: weightOf(cell),
        measure: () => measure(cell),
      }));
  try {
    const { signal } = options;
    const inModel = measurements("model", (cell) => pool.measure(cell, signal));
    const inLab = measurements("lab", async (cell) => {
      const ground = await lab.open(cell);
      return runCell(cell, { contender, ground, clock: deps.clock, settings }, signal);
    });
    const results = [
      ...(await bench.run(RESULTS, inModel, options.jobs)),
      ...(await bench.run(RESULTS, inLab)),
    ];
    return findingsOf(scenario, results, about, groundsOf(scenario, results, bench.folder, lab.facts));
  } finally {
    await Promise.all([pool.close(), lab.close()]);
  }
}

function findingsOf(
  scenario: Scenario,
  results: readonly CellResult[],
  about: ReportContext,
  grounds: Readonly<Record<string, Facts>>,
): Findings {
  const analyses = analyse(scenario, results);
  return {
    cells: results.length,
    failed: results.filter(({ failure }) => failure !== null).length,
    html: reportHtml({ scenario, results, grounds, ...about }),
    rows: resultRows(results),
    json: { grounds, scenario, analyses, results },
    verdicts: verdictsOf(scenario, analyses),
  };
}

/** Creates sockets and processes only if a cell needs them. */
class LazyLab {
  #testbed: Testbed | null = null;

  async open({ ground }: Cell): Promise<Testbed> {
    if (ground.name !== "lab") throw new TypeError(`ground must be the lab, got ${ground.name}`);
    if (this.#testbed === null) {
      const { createLabTestbed } = await import("../testbed/lab/index.ts");
      this.#testbed = await createLabTestbed(ground.lab);
    }
    return this.#testbed;
  }

  /** Null: no cell needed the lab. */
  get facts(): Facts | null {
    return this.#testbed?.describe() ?? null;
  }

  async close(): Promise<void> {
    await this.#testbed?.close();
  }
}

/** The lab is described while it runs; a report of earlier results keeps that description. */
function groundsOf(
  { grounds: { model } }: Scenario,
  results: readonly CellResult[],
  folder: string,
  lab: Facts | null,
): Readonly<Record<string, Facts>> {
  const names = new Set(results.map(({ ground }) => ground));
  const file = join(folder, LAB);
  if (lab !== null) writeFileSync(file, JSON.stringify(lab));
  return {
    ...(names.has("model") && model !== null ? { model: createModelTestbed(model).describe() } : {}),
    ...(names.has("lab") && existsSync(file) ? { lab: parseFacts(readFileSync(file, "utf8")) } : {}),
  };
}

function parseFacts(text: string): Facts {
  return JSON.parse(text);
}

function refuseEmpty(scenario: Scenario, { file, only, grounds }: ConductOptions): void {
  if (cellsOf(scenario, { only, grounds }).length > 0) return;
  const hasGround = grounds.some((name) => scenario.grounds[name] !== null);
  const wanted = Object.entries(only).map(([name, value]) => `${name}=${value}`);
  refuse(
    file,
    hasGround
      ? `points must have ${wanted.join(" and ")}, got none that ${grounds.join(" or ")} measures`
      : `grounds must have ${grounds.join(" or ")}, got none`,
  );
}

function withContenders(scenario: Scenario, options: ConductOptions): Scenario {
  const contenders = chosenContenders(scenario.contenders, options);
  const { baseline } = scenario;
  if (!contenders.includes(baseline))
    refuse(
      options.file,
      `contenders must have the baseline ${baseline}, got ${(options.contenders ?? []).join(", ")}`,
    );
  return { ...scenario, contenders };
}

function withScale(scenario: Scenario, scale: number | undefined): Scenario {
  const { lab } = scenario.grounds;
  if (scale === undefined || lab === null) return scenario;
  const slower: LabSettings = { ...lab, scale };
  return { ...scenario, grounds: { ...scenario.grounds, lab: slower } };
}
