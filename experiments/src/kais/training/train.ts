// Trains KaiS's networks on generated requests: sequential episodes, a learning curve, and checkpoints for
// resuming.
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { looseFields, seeded } from "@isochrone/primitives";
import { CmmacTraining, GpgTraining } from "@isochrone/dispatch";
import { readWeights, writeWeights, type NamedArray } from "@isochrone/learning";
import { SERVICES } from "../requests/classes.ts";
import { workloadOf } from "../requests/workload.ts";
import type { SystemSettings } from "../requests/settings.ts";
import { simulate, type Observer } from "../simulation/simulation.ts";
import { controlsOfNets, createNets, optionsOf, type LearnedContender, type Nets } from "./learned.ts";

interface TrainingOptions {
  readonly contender: LearnedContender;
  readonly settings: SystemSettings;
  readonly seed: number;
  readonly decisions: number;
  readonly folder: string;
  /** Episodes between two points of the curve, each with a checkpoint. @default 10 */
  readonly episodesPerPoint?: number;
  readonly signal: AbortSignal;
  readonly onProgress: (share: number, point: CurvePoint | null) => void;
}

export interface CurvePoint {
  readonly episodes: number;
  readonly decisions: number;
  readonly frames: number;
  readonly inTime: number;
  readonly movedGb: number;
}

const EPISODES_PER_POINT = 10;
const VALIDATIONS = 2;
/** Seed offset that separates episodes from validation. */
const EPISODE_SEEDS = 1_000_000;
const VALIDATION_SEED = 77;

/** Returns the weights file. Throws the abort reason; the next call resumes. */
export async function train(options: TrainingOptions): Promise<string> {
  const { folder, contender, decisions, signal, onProgress } = options;
  const { episodesPerPoint = EPISODES_PER_POINT } = options;
  mkdirSync(folder, { recursive: true });
  const training = new Training(options);
  training.resume();
  if (training.progress.episodes === 0) training.look();
  while (training.progress.decisions < decisions) {
    signal.throwIfAborted();
    training.episode();
    const isLook = training.progress.episodes % episodesPerPoint === 0;
    onProgress(training.progress.decisions / decisions, isLook ? training.look() : null);
    if (isLook) training.save();
    await setImmediate();
  }
  training.save();
  const file = join(folder, `${contender}-weights.json`);
  writeFileSync(file, training.weights());
  return file;
}

class Training {
  progress = { episodes: 0, decisions: 0, frames: 0 };
  readonly #options: TrainingOptions;
  readonly #nets: Nets;
  readonly #cmmac: CmmacTraining;
  readonly #gpg: GpgTraining | null;
  /** Reseeded for each episode, so that a resumed training draws the same numbers. */
  #draw = seeded(0);
  #isLearning = false;

  constructor(options: TrainingOptions) {
    const { contender, settings, seed } = options;
    this.#options = options;
    this.#nets = createNets(contender, settings, seed, () => this.#draw(), {
      onDispatch: (decision, view) => {
        if (this.#isLearning) this.#cmmac.decided(decision, view);
      },
      isExploring: () => this.#isLearning,
      onFrame: (decision) => {
        if (this.#isLearning) this.#gpg?.decided(decision);
      },
    });
    const policy = this.#nets.cmmac;
    const shape = { sites: settings.sites, nodesPerSite: settings.nodesPerSite[0]!, services: SERVICES };
    this.#cmmac = new CmmacTraining({ policy, shape, options: optionsOf(contender), seed: seed + 2 });
    this.#gpg = this.#nets.gpg === null ? null : new GpgTraining(this.#nets.gpg);
  }

  episode(): void {
    const { settings, seed, contender } = this.#options;
    const { episodes } = this.progress;
    const seconds = optionsOf(contender).episodeFrames * settings.frameSeconds;
    const episode = seed * EPISODE_SEEDS + episodes;
    const workload = workloadOf({ ...settings, seconds }, episode, 0, null);
    this.#draw = seeded(episode);
    this.#isLearning = true;
    simulate({ ...settings, seconds }, workload, controlsOfNets(this.#nets), episode, this.#observer());
    this.#isLearning = false;
    const decisions = this.#cmmac.learn(this.#draw);
    const frames = this.#gpg?.learn() ?? 0;
    this.progress = {
      episodes: episodes + 1,
      decisions: this.progress.decisions + decisions,
      frames: this.progress.frames + frames,
    };
  }

  look(): CurvePoint {
    const { settings, contender } = this.#options;
    const seconds = optionsOf(contender).episodeFrames * settings.frameSeconds;
    const outcomes = Array.from({ length: VALIDATIONS }, (_, run) => {
      const workload = workloadOf({ ...settings, seconds }, VALIDATION_SEED, run, null);
      this.#draw = seeded(run);
      return simulate({ ...settings, seconds }, workload, controlsOfNets(this.#nets), run);
    });
    const mean = (value: (outcome: (typeof outcomes)[number]) => number): number =>
      outcomes.reduce((sum, outcome) => sum + value(outcome), 0) / outcomes.length;
    const point = {
      ...this.progress,
      inTime: mean(({ inTime }) => inTime),
      movedGb: mean(({ forwardedGb, imagesGb }) => forwardedGb + imagesGb),
    };
    appendFileSync(curveFile(this.#options), `${JSON.stringify(point)}\n`);
    return point;
  }

  weights(): string {
    const { contender, seed, settings } = this.#options;
    return writeWeights({
      kind: contender,
      settings: {
        seed,
        ...this.progress,
        trainedOn: "generated requests",
        perSecond: settings.perSecond,
        options: JSON.stringify(optionsOf(contender)),
      },
      arrays: this.#nets.arrays,
    });
  }

  save(): void {
    const memory = {
      progress: this.progress,
      cmmac: this.#cmmac.stepsTaken(),
      gpg: this.#gpg?.memory() ?? null,
    };
    const text = writeWeights({
      kind: this.#checkpointKind(),
      settings: { memory: JSON.stringify(memory) },
      arrays: this.#all(),
    });
    const file = checkpointFile(this.#options);
    writeFileSync(`${file}.new`, text);
    // The rename is atomic: a killed training keeps the previous checkpoint.
    renameSync(`${file}.new`, file);
  }

  resume(): void {
    const file = checkpointFile(this.#options);
    if (!existsSync(file)) return;
    const { memory } = readWeights(readFileSync(file, "utf8"), {
      subject: file,
      kind: this.#checkpointKind(),
      arrays: this.#all(),
    });
    const read: Memory = JSON.parse(String(memory));
    this.progress = read.progress;
    this.#cmmac.resume(read.cmmac);
    if (read.gpg !== null) this.#gpg?.resume(read.gpg);
  }

  #all(): NamedArray[] {
    return [...this.#nets.arrays, ...this.#cmmac.arrays(), ...(this.#gpg?.arrays() ?? [])];
  }

  /** Identifies seed and options; checkpoints of other ones don't match. */
  #checkpointKind(): string {
    const { contender, seed, settings } = this.#options;
    return `checkpoint ${JSON.stringify([contender, seed, settings, optionsOf(contender)])}`;
  }

  #observer(): Observer {
    return {
      settled: (request, isInTime) => this.#cmmac.settled(request, isInTime),
      slotEnded: (state, failed, waiting) => this.#cmmac.slotEnded(state, failed, waiting),
      frameEnded: (state, inTime) =>
        this.#gpg?.frameEnded(
          state.nodes.map(({ queueLength }) => queueLength),
          inTime,
        ),
    };
  }
}

interface Memory {
  readonly progress: Training["progress"];
  readonly cmmac: ReturnType<CmmacTraining["stepsTaken"]>;
  readonly gpg: ReturnType<GpgTraining["memory"]> | null;
}

function checkpointFile({ folder, contender }: TrainingOptions): string {
  return join(folder, `${contender}-checkpoint.json`);
}

function curveFile({ folder, contender }: TrainingOptions): string {
  return join(folder, `${contender}-curve.jsonl`);
}

/** Reads the curve so far, with the last point per episode, because a resumed training repeats some. */
export function readCurve(folder: string, contender: LearnedContender): CurvePoint[] {
  const file = join(folder, `${contender}-curve.jsonl`);
  if (!existsSync(file)) return [];
  const points = readFileSync(file, "utf8").split("\n").flatMap(readPoint);
  return [...new Map(points.map((point) => [point.episodes, point])).values()];
}

function readPoint(line: string): CurvePoint[] {
  try {
    const read = looseFields<CurvePoint>(JSON.parse(line));
    const { episodes, decisions, frames, inTime, movedGb } = read;
    const values = [episodes, decisions, frames, inTime, movedGb];
    if (!values.every((value) => typeof value === "number")) return [];
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}
