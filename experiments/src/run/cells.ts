// Which measurements an experiment is made of, and in what order.
import { createHash } from "node:crypto";
import type {
  ContenderId,
  Labels,
  LabSettings,
  ModelSettings,
  Point,
  Protocol,
  Scenario,
} from "../scenario/model.ts";
import { hasLabels } from "../scenario/axes.ts";

/** One point, one contender, one ground, one trial. Plain data: it crosses to other threads. */
export interface Cell {
  readonly ground: GroundSettings;
  readonly point: Point;
  readonly contender: ContenderId;
  /** From 1. */
  readonly trial: number;
  /** Of load and ground: equal for all contenders of a trial, which makes them pairs. */
  readonly loadSeed: number;
  /** Of what the contender draws. */
  readonly contenderSeed: number;
  readonly protocol: Protocol;
  /** Measures what the optimum has after the changes, too: once per trial, with the baseline. */
  readonly findsOptimum: boolean;
}

type GroundSettings =
  | { readonly name: "model"; readonly model: ModelSettings }
  | { readonly name: "lab"; readonly lab: LabSettings };

export type GroundName = GroundSettings["name"];

/**
 * Names what was done; to be raised when the protocol or the model changes so that old results say less than
 * they seem to.
 */
const VERSION = 3;
/** The same of the lab alone. */
const LAB_VERSION = 2;

interface CellChoice {
  readonly grounds: readonly GroundName[];
  /** Only points with these labels; empty: all. */
  readonly only: Labels;
}

/**
 * Trials outside, contenders inside and each time another one first: whatever drifts on the machine meets all
 * of them.
 */
export function cellsOf(scenario: Scenario, { grounds, only }: CellChoice): readonly Cell[] {
  const cells: Cell[] = [];
  for (const ground of groundsOf(scenario, grounds)) {
    const trials = ground.name === "lab" ? ground.lab.trials : scenario.trials;
    const points = scenario.points.filter(
      ({ labels }) => hasLabels(labels, only) && isMeasuredOn(ground, labels),
    );
    for (let trial = 1; trial <= trials; trial += 1)
      for (const [at, point] of points.entries())
        for (const index of scenario.contenders.keys()) {
          const contender = scenario.contenders[(index + trial + at) % scenario.contenders.length]!;
          cells.push(cellOf(scenario, ground, point, contender, trial));
        }
  }
  return cells;
}

function groundsOf({ grounds }: Scenario, wanted: readonly GroundName[]): readonly GroundSettings[] {
  const found: GroundSettings[] = [];
  if (wanted.includes("model") && grounds.model !== null) found.push({ name: "model", model: grounds.model });
  if (wanted.includes("lab") && grounds.lab !== null) found.push({ name: "lab", lab: grounds.lab });
  return found;
}

function isMeasuredOn(ground: GroundSettings, labels: Labels): boolean {
  if (ground.name === "model" || ground.lab.only.length === 0) return true;
  return ground.lab.only.some((wanted) => hasLabels(labels, wanted));
}

function cellOf(
  { seed, protocol, baseline }: Scenario,
  ground: GroundSettings,
  point: Point,
  contender: ContenderId,
  trial: number,
): Cell {
  return {
    ground,
    point:
      ground.name === "lab" ? { ...point, load: { ...point.load, ...labTimes(point, ground.lab) } } : point,
    contender,
    trial,
    loadSeed: seedOf(seed, point.id, trial, "load"),
    contenderSeed: seedOf(seed, point.id, trial, contender),
    protocol: ground.name === "lab" ? { ...protocol, ...labProtocol(protocol, ground.lab) } : protocol,
    findsOptimum: contender === baseline && point.changes.length > 0,
  };
}

function labProtocol(
  protocol: Protocol,
  { learnSeconds = protocol.learnSeconds }: LabSettings,
): Pick<Protocol, "learnSeconds"> {
  return { learnSeconds };
}

/** Its times are the wall's, and said in full: nothing is waited for. */
function labTimes(
  { load }: Point,
  { warmUpSeconds = load.warmUpSeconds, durationSeconds }: LabSettings,
): Pick<Point["load"], "warmUpSeconds" | "steadyWithinSeconds" | "durationSeconds"> {
  return { warmUpSeconds, steadyWithinSeconds: 0, durationSeconds };
}

/** 32 bits out of whatever tells cells apart. */
function seedOf(...parts: readonly (string | number)[]): number {
  return createHash("sha256").update(parts.join("\u0000")).digest().readUInt32BE(0);
}

/**
 * Equal hashes: the same measurement.
 * @param by who decides for the contender
 * @param settings of the product, as text
 */
export function cellHash(cell: Cell, by: string, settings: string): string {
  const {
    trials: _trials,
    only: _only,
    ...lab
  } = cell.ground.name === "lab" ? cell.ground.lab : ({} as LabSettings);
  const ground = cell.ground.name === "lab" ? { name: "lab", lab, version: LAB_VERSION } : cell.ground;
  const text = JSON.stringify({ ...cell, ground, by, settings, version: VERSION });
  return createHash("sha256").update(text).digest("hex").slice(0, 20);
}

/** How much work a cell is beside others: requests that are sent in it, were each round used. */
export function weightOf({ point, protocol }: Cell): number {
  const { users, requestsPerSecondPerUser, warmUpSeconds, durationSeconds } = point.load;
  const seconds = protocol.learnSeconds * 3 + warmUpSeconds + durationSeconds;
  return users * requestsPerSecondPerUser * seconds * point.workflow.workloads.length;
}
