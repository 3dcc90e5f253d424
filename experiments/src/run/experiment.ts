// Runs the cells of a scenario that have no result yet.
import type { Clock } from "@isochrone/runtime";
import { createContender } from "../contenders/index.ts";
import type { ContenderDeps, KubeScheduler, ProductSettings } from "../contenders/index.ts";
import type { Testbed } from "../testbed/port.ts";
import type { LabSettings, Scenario } from "../scenario/model.ts";
import { CellPool } from "./cell-pool.ts";
import { runCell } from "./cell-run.ts";
import { cellHash, cellsOf, weightOf } from "./cells.ts";
import type { Cell, CellChoice } from "./cells.ts";
import type { CellResult } from "./result.ts";
import type { ResultStore } from "./store.ts";

export interface ExperimentDeps {
  readonly clock: Pick<Clock, "monotonic">;
  readonly product: ProductSettings;
  /** The real one; null: the imitation decides, and the results say so. */
  readonly kubeScheduler: KubeScheduler | null;
  readonly labGround: (settings: LabSettings) => Promise<Testbed>;
}

export interface ExperimentOptions extends CellChoice {
  /** Cells of the model that are measured side by side; the lab has the machine for itself. */
  readonly jobs: number;
  readonly onProgress: (progress: RunProgress) => void;
  readonly signal: AbortSignal;
}

export interface RunProgress {
  /** Of the work, 0 to 1. */
  readonly share: number;
  readonly done: number;
  readonly total: number;
  /** Null: nothing has been measured yet to judge by. */
  readonly secondsLeft: number | null;
  readonly what: string;
}

interface ExperimentRun {
  /** Of the chosen cells, in their order; earlier runs' among them. */
  readonly results: readonly CellResult[];
  readonly measured: number;
  readonly reused: number;
  /** By name of the ground. */
  readonly grounds: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
}

export async function runExperiment(
  scenario: Scenario,
  store: ResultStore<CellResult>,
  deps: ExperimentDeps,
  options: ExperimentOptions,
): Promise<ExperimentRun> {
  const contenderDeps: ContenderDeps = {
    product: deps.product,
    clock: deps.clock,
    ...(deps.kubeScheduler === null ? {} : { kubeScheduler: deps.kubeScheduler }),
  };
  const by = new Map(scenario.contenders.map((id) => [id, createContender(id, contenderDeps).by]));
  const settings = JSON.stringify(deps.product);
  const hashes = new Map(
    cellsOf(scenario, options).map((cell) => [cell, cellHash(cell, by.get(cell.contender)!, settings)]),
  );
  const missing = [...hashes].filter(([, hash]) => !store.known.has(hash)).map(([cell]) => cell);
  const progress = new ProgressCount(missing, deps.clock, options.onProgress);
  const done = (cell: Cell, result: CellResult): void => {
    store.add(result);
    progress.finished(cell);
  };
  const grounds: Record<string, Readonly<Record<string, string | number>>> = {};
  await measureModel(missing, deps, options, done);
  const lab = missing.filter(({ ground }) => ground.name === "lab");
  if (lab.length > 0) grounds["lab"] = await measureLab(lab, contenderDeps, deps, options, done);
  const results = [...hashes.values()].map((hash) => store.known.get(hash)!);
  return { results, measured: missing.length, reused: hashes.size - missing.length, grounds };
}

async function measureModel(
  missing: readonly Cell[],
  { product, kubeScheduler }: ExperimentDeps,
  { jobs, signal }: ExperimentOptions,
  done: (cell: Cell, result: CellResult) => void,
): Promise<void> {
  const cells = missing.filter(({ ground }) => ground.name === "model");
  if (cells.length === 0) return;
  const pool = new CellPool({ jobs: Math.min(jobs, cells.length), product, kubeScheduler });
  try {
    await pool.run(cells, done, signal);
  } finally {
    await pool.close();
  }
}

async function measureLab(
  cells: readonly Cell[],
  contenderDeps: ContenderDeps,
  { clock, labGround }: ExperimentDeps,
  { signal }: ExperimentOptions,
  done: (cell: Cell, result: CellResult) => void,
): Promise<Readonly<Record<string, string | number>>> {
  const [first] = cells;
  if (first?.ground.name !== "lab") return {};
  const ground = await labGround(first.ground.lab);
  try {
    for (const cell of cells) {
      signal.throwIfAborted();
      const contender = (id: typeof cell.contender): ReturnType<typeof createContender> =>
        createContender(id, contenderDeps);
      done(
        cell,
        await runCell(
          cell,
          { contender, ground, clock, settings: JSON.stringify(contenderDeps.product) },
          signal,
        ),
      );
    }
    return ground.describe();
  } finally {
    await ground.close();
  }
}

/** Says how far it is after each cell. */
class ProgressCount {
  readonly #total: number;
  readonly #totalWeight: number;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #startedMs: number;
  readonly #say: (progress: RunProgress) => void;
  #done = 0;
  #doneWeight = 0;

  constructor(cells: readonly Cell[], clock: Pick<Clock, "monotonic">, say: (progress: RunProgress) => void) {
    this.#total = cells.length;
    this.#totalWeight = cells.reduce((sum, cell) => sum + weightOf(cell), 0);
    this.#clock = clock;
    this.#startedMs = clock.monotonic();
    this.#say = say;
    if (cells.length > 0) this.#report("starting");
  }

  finished(cell: Cell): void {
    this.#done += 1;
    this.#doneWeight += weightOf(cell);
    this.#report(`${cell.ground.name} ${cell.point.id} ${cell.contender} trial ${cell.trial}`);
  }

  #report(what: string): void {
    const share = this.#doneWeight / this.#totalWeight;
    const tookMs = this.#clock.monotonic() - this.#startedMs;
    const secondsLeft = this.#done === 0 ? null : ((tookMs / 1000) * (1 - share)) / share;
    this.#say({ share, done: this.#done, total: this.#total, secondsLeft, what });
  }
}
