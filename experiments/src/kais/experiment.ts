import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { recordOf } from "@isochrone/primitives";
import {
  chosenContenders,
  chosenPoints,
  folderOf,
  refuse,
  type ConductOptions,
  type Experiment,
  type Findings,
  type Verdict,
} from "../frame/experiment.ts";
import { meanOf } from "../frame/figures.ts";
import { rowsOf } from "../frame/rows.ts";
import { kaisCells, type KaisResult } from "./cells.ts";
import { FOCUS, ratioOf } from "./figures.ts";
import { comparison, kaisReport } from "./report.ts";
import { readTrace, skippedText, TraceError, type Trace } from "./requests/trace.ts";
import { readKaisScenario, type KaisScenario } from "./scenario.ts";
import { committedWeights, LEARNED, LearnedPolicies, type LearnedContender } from "./training/learned.ts";
import { trainAll } from "./training/train-all.ts";
import { readCurve } from "./training/train.ts";

/** Maximum difference between equal policies. They share sequences, so chance is small. */
const NULL_DIFFERENCE = 0.02;
const GENERATED = "generated, fitted to the statistics of the trace of KaiS";

export function openKais(text: string, options: ConductOptions): Experiment {
  const { file, quick, out } = options;
  const scenario = chosen(readKaisScenario(text, file, quick), options);
  const points = chosenPoints(scenario.points, options);
  const trace = traceOf(options);
  const name = folderOf(`${scenario.name}${trace === null ? "" : "-trace"}`, options);
  const training = join(out, `${scenario.name}-training`);
  return {
    name,
    folder: name,
    async run(bench, about) {
      if (options.train === true) await trainAll(scenario.training!, training, options);
      const learned = new LearnedPolicies(
        recordOf(LEARNED, (contender) => weightsFile(contender, training, options)),
      );
      const without = new Set<string>();
      const cells = kaisCells({
        scenario,
        points,
        trace,
        learned,
        onMissingWeights: (contender, { id }) => without.add(`${contender} at ${id}`),
      });
      const results = await bench.run("cells.jsonl", cells);
      const curves = recordOf(LEARNED, (contender) => readCurve(training, contender));
      const requests =
        trace === null ? GENERATED : `a trace: ${trace.content.tasks.length} tasks. ${trace.told}`;
      return {
        cells: results.length,
        html: kaisReport({ scenario, results, requests, curves, without: [...without], ...about }),
        rows: rowsOf(results, COLUMNS),
        json: { scenario, requests, results },
        verdicts: verdictsOf(scenario, results),
        figures: figuresOf(scenario, results),
        ...(trace === null || trace.told === "" ? {} : { notes: [trace.told] }),
      };
    },
  };
}

const COLUMNS = [
  "contender",
  "run",
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
  "hash",
] as const;

function chosen(scenario: KaisScenario, options: ConductOptions): KaisScenario {
  const { file, grounds, train } = options;
  if (!grounds.includes("model")) refuse(file, "grounds must have model, got lab: there is no lab of this");
  if (train === true && scenario.training === null)
    refuse(file, "training must be given to train, got nothing");
  return { ...scenario, contenders: chosenContenders(scenario.contenders, options) };
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

function weightsFile(contender: LearnedContender, folder: string, { train }: ConductOptions): string {
  const trained = join(folder, `${contender}-weights.json`);
  return train === true && existsSync(trained) ? trained : committedWeights(contender);
}

/** Requires more requests in time than the baseline, and no difference between equal policies. */
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
): NonNullable<Findings["figures"]> {
  return points.flatMap(({ id }) =>
    contenders.flatMap((contender) => {
      const inTime = meanOf(results, id, contender, "inTime");
      if (inTime.n === 0) return [];
      const movedGb = meanOf(results, id, contender, "movedGb");
      return [{ point: id, contender, inTime: inTime.mean, movedGb: movedGb.mean }];
    }),
  );
}
