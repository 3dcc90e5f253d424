// One experiment of kind bill from its file to its report.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { keysOf } from "@isochrone/primitives";
import { progressOf } from "../conducted.ts";
import type { ConductDeps, Conducted, ConductOptions } from "../conducted.ts";
import { toRows } from "../report/csv.ts";
import { describeMachine } from "../run/machine.ts";
import { openStore } from "../run/store.ts";
import type { Verdict } from "../run/verdict.ts";
import { ScenarioError } from "../scenario/errors.ts";
import { billReport, comparison, meanOf } from "./report.ts";
import { BILL_CONTENDERS, runBill, type BillContender, type BillResult } from "./run.ts";
import { readBillScenario } from "./scenario.ts";

/** @param text of the scenario's file. Throws ScenarioError before anything starts. */
export async function conductBill(
  text: string,
  options: ConductOptions,
  { kubeScheduler, ...deps }: ConductDeps,
): Promise<Conducted> {
  const { file, quick, out, command, signal } = options;
  const scenario = readBillScenario(text, file, quick);
  const contenders = chosen(options);
  const folder = join(out, quick ? `${scenario.name}-quick` : scenario.name);
  const { results, measured } = await runBill({
    scenario,
    contenders,
    store: openStore<BillResult>(join(folder, "cells.jsonl")),
    deps: { ...deps, ...(kubeScheduler === null ? {} : { kubeScheduler }) },
    onProgress: progressOf(options),
    signal,
  });
  const files = {
    html: join(folder, "report.html"),
    csv: join(folder, "results.csv"),
    json: join(folder, "results.json"),
  };
  const machine = describeMachine();
  writeFileSync(files.html, billReport({ scenario, contenders, results, command, quick, machine }));
  writeFileSync(files.csv, csvOf(results));
  writeFileSync(files.json, `${JSON.stringify({ command, machine, scenario, results }, null, 1)}\n`);
  return {
    scenario: { name: scenario.name },
    cells: results.length,
    measured,
    failed: 0,
    verdicts: verdictsOf(scenario.name, contenders, results),
    files,
  };
}

function chosen({ file, grounds, contenders }: ConductOptions): BillContender[] {
  const refuse = (message: string): never => {
    throw new ScenarioError(file, [{ line: 1, message }]);
  };
  if (!grounds.includes("model")) refuse("grounds must have model, got lab: the scenario has no lab");
  const known = keysOf(BILL_CONTENDERS);
  if (contenders === undefined) return known;
  const wrong = contenders.find((id) => !known.some((each) => each === id));
  if (wrong !== undefined) refuse(`contenders must be of ${known.join(", ")}, got ${wrong}`);
  return known.filter((id) => contenders.includes(id));
}

/** What a run must show: by money less is paid than by default. */
function verdictsOf(
  name: string,
  contenders: readonly BillContender[],
  results: readonly BillResult[],
): Verdict[] {
  if (!contenders.includes("money") || !contenders.includes("default")) return [];
  const paid = (id: BillContender): number => meanOf(results, id, "perMonth").mean;
  return [{ isHeld: paid("money") < paid("default"), text: `${name}: ${comparison(results, "money")}` }];
}

function csvOf(results: readonly BillResult[]): string {
  const figures = ["perMonth", "meanMs", "p95Ms", "failedRatio", "moves"] as const;
  return toRows([
    ["contender", "trial", ...figures, "hash"],
    ...results.map((each) => [each.contender, each.trial, ...figures.map((key) => each[key]), each.hash]),
  ]);
}
