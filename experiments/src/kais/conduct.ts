// One experiment of kind kais from its file to its report; before it, a training if that is asked for.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { progressOf } from "../conducted.ts";
import type { Conducted, ConductOptions } from "../conducted.ts";
import { toRows } from "../report/csv.ts";
import { describeMachine } from "../run/machine.ts";
import { openStore } from "../run/store.ts";
import type { Verdict } from "../run/verdict.ts";
import { ScenarioError } from "../scenario/errors.ts";
import { recordOf } from "@isochrone/primitives";
import { trainEndpoints } from "./endpoints/train-endpoints.ts";
import { FOCUS, meanOf, ratioOf } from "./figures.ts";
import { comparison, kaisReport } from "./report.ts";
import { readTrace, skippedText, TraceError, type Trace } from "./requests/trace.ts";
import { runKais, type KaisResult } from "./run.ts";
import { readKaisScenario, type KaisScenario } from "./scenario.ts";
import { committedWeights, LEARNED, LearnedPolicies, type LearnedContender } from "./training/learned.ts";
import { readCurve, train } from "./training/train.ts";

/** Equals must not differ by more; sequences are the same, so little is left to chance. */
const NULL_DIFFERENCE = 0.02;

/** @param text of the scenario's file. Throws ScenarioError before anything starts. */
export async function conductKais(text: string, options: ConductOptions): Promise<Conducted> {
  const { file, quick, out, command, signal } = options;
  const scenario = chosen(readKaisScenario(text, file, quick), options);
  const points = scenario.points.filter(({ labels }) =>
    Object.entries(options.only).every(([name, value]) => String(labels[name]) === String(value)),
  );
  if (points.length === 0) refuse(file, "points must have the wanted labels, got none");
  const trace = traceOf(options);
  const name = `${scenario.name}${trace === null ? "" : "-trace"}${quick ? "-quick" : ""}`;
  const folder = join(out, name);
  const trainingFolder = join(out, `${scenario.name}-training`);
  if (options.train === true) await trainAll(scenario, trainingFolder, options);
  const learned = new LearnedPolicies(
    recordOf(LEARNED, (contender) => weightsFile(contender, trainingFolder, options)),
  );
  const { results, measured, without } = await runKais({
    scenario,
    points,
    trace,
    learned,
    store: openStore<KaisResult>(join(folder, "cells.jsonl")),
    onProgress: progressOf(options),
    signal,
  });
  const files = {
    html: join(folder, "report.html"),
    csv: join(folder, "results.csv"),
    json: join(folder, "results.json"),
  };
  const machine = describeMachine();
  const curves = recordOf(LEARNED, (contender) => readCurve(trainingFolder, contender));
  const requests = trace === null ? GENERATED : `a trace: ${trace.content.tasks.length} tasks. ${trace.told}`;
  const input = { scenario, results, command, quick, machine, requests, curves, without };
  writeFileSync(files.html, kaisReport(input));
  writeFileSync(files.csv, csvOf(results));
  writeFileSync(
    files.json,
    `${JSON.stringify({ command, machine, scenario, requests, results }, null, 1)}\n`,
  );
  return {
    scenario: { name },
    cells: results.length,
    measured,
    failed: 0,
    verdicts: verdictsOf(scenario, results),
    files,
    figures: figuresOf(scenario, results),
    ...(trace === null || trace.told === "" ? {} : { notes: [trace.told] }),
  };
}

const GENERATED = "generated, fitted to the statistics of the trace of KaiS";

function refuse(file: string, message: string): never {
  throw new ScenarioError(file, [{ line: 1, message }]);
}

function chosen(scenario: KaisScenario, { file, contenders, grounds, train }: ConductOptions): KaisScenario {
  if (!grounds.includes("model")) refuse(file, "grounds must have model, got lab: there is no lab of this");
  if (train === true && scenario.training === null)
    refuse(file, "training must be given to train, got nothing");
  if (contenders === undefined) return scenario;
  const wrong = contenders.find((id) => !scenario.contenders.some((known) => known === id));
  if (wrong !== undefined)
    refuse(file, `contenders must be of ${scenario.contenders.join(", ")}, got ${wrong}`);
  return { ...scenario, contenders: scenario.contenders.filter((id) => contenders.includes(id)) };
}

function traceOf({ trace }: ConductOptions): {
  readonly content: Trace;
  readonly hash: string;
  readonly told: string;
} | null {
  if (trace === undefined) return null;
  if (statSync(trace, { throwIfNoEntry: false })?.isFile() !== true)
    return refuse(trace, `--trace must be a file, got ${trace}`);
  const text = readFileSync(trace, "utf8");
  try {
    const content = readTrace(text, trace);
    const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
    return { content, hash, told: skippedText(content) };
  } catch (error) {
    if (error instanceof TraceError) refuse(trace, error.message);
    throw error;
  }
}

/** Those that this training gave, else the project's. */
function weightsFile(contender: LearnedContender, folder: string, { train }: ConductOptions): string {
  const trained = join(folder, `${contender}-weights.json`);
  return train === true && existsSync(trained) ? trained : committedWeights(contender);
}

async function trainAll(scenario: KaisScenario, folder: string, options: ConductOptions): Promise<void> {
  const { seed, decisions, system } = scenario.training!;
  const { signal } = options;
  const began = performance.now();
  const total = LEARNED.length + 1;
  const tell = (at: number, name: keyof typeof decisions, part: number, inTime: number | null): void => {
    const share = (at + part) / total;
    const secondsLeft = ((performance.now() - began) / 1e3 / share) * (1 - share);
    const look = inTime === null ? "" : `, ${inTime.toFixed(3)} in time`;
    const what = `training ${name}: ${Math.round(part * decisions[name])} decisions${look}`;
    options.onProgress({ done: at, total, share, secondsLeft, what });
  };
  for (const [at, contender] of LEARNED.entries()) {
    if (existsSync(join(folder, `${contender}-weights.json`))) continue;
    await train({
      contender,
      settings: system,
      seed,
      decisions: decisions[contender],
      folder,
      signal,
      onProgress: (part, point) => tell(at, contender, part, point?.inTime ?? null),
    });
  }
  const file = join(folder, "endpoint-weights.json");
  if (existsSync(file)) return;
  const weights = await trainEndpoints({
    seed,
    decisions: decisions.endpoints,
    signal,
    onProgress: (part, inTime) => tell(LEARNED.length, "endpoints", Math.min(1, part), inTime),
  });
  writeFileSync(file, weights);
}

/** What a quick run must show: more in time than the baseline, and no difference between equals. */
function verdictsOf(scenario: KaisScenario, results: readonly KaisResult[]): Verdict[] {
  const { contenders, baseline, name } = scenario;
  const points = scenario.points.filter(({ id }) => results.some(({ point }) => point === id));
  const verdicts: Verdict[] = [];
  if (contenders.includes(FOCUS) && contenders.includes(baseline) && baseline !== FOCUS) {
    const isHeld = points.every(
      ({ id }) => meanOf(results, id, FOCUS, "inTime").mean > meanOf(results, id, baseline, "inTime").mean,
    );
    verdicts.push({ isHeld, text: `${name}: ${comparison(results, points, baseline)}` });
  }
  const ratios = points.flatMap(
    ({ id }) => ratioOf(results, id, "inTime", "null", "greedy-cloud")?.mean ?? [],
  );
  if (ratios.length > 0) {
    const most = Math.max(...ratios.map((ratio) => Math.abs(ratio - 1)));
    verdicts.push({
      isHeld: most <= NULL_DIFFERENCE,
      text: `${name}: null, which is greedy-cloud once more, differs by ${(100 * most).toFixed(1)} % at most (up to ${100 * NULL_DIFFERENCE} % counts as none)`,
    });
  }
  return verdicts;
}

function figuresOf(
  { points, contenders }: KaisScenario,
  results: readonly KaisResult[],
): NonNullable<Conducted["figures"]> {
  return points.flatMap(({ id }) =>
    contenders.flatMap((contender) => {
      const inTime = meanOf(results, id, contender, "inTime");
      if (inTime.n === 0) return [];
      const movedGb = meanOf(results, id, contender, "movedGb");
      return [{ point: id, contender, inTime: inTime.mean, movedGb: movedGb.mean }];
    }),
  );
}

function csvOf(results: readonly KaisResult[]): string {
  const axes = [...new Set(results.flatMap(({ labels }) => Object.keys(labels)))];
  const keys = [
    "inTime",
    "movedGb",
    "forwardedGb",
    "imagesGb",
    "own",
    "other",
    "cloud",
    "added",
    "removed",
    "dispatchMs",
    "orchestrateMs",
    "nobodyWaits",
  ] as const;
  return toRows([
    ["point", ...axes, "contender", "run", ...keys, "hash"],
    ...results.map((result) => [
      result.point,
      ...axes.map((axis) => result.labels[axis] ?? ""),
      result.contender,
      result.run,
      ...keys.map((key) => result[key]),
      result.hash,
    ]),
  ]);
}
