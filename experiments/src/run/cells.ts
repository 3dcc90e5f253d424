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

/** One point, contender, testbed and trial. Plain data for threads. */
export interface Cell {
  readonly ground: GroundSettings;
  readonly point: Point;
  readonly contender: ContenderId;
  /** Starts at 1. */
  readonly trial: number;
  /** Seed of load and testbed, equal for all contenders of a trial, which makes them pairs. */
  readonly loadSeed: number;
  readonly contenderSeed: number;
  readonly protocol: Protocol;
  /** Also measures the optimum after the changes: once per trial, with the baseline. */
  readonly findsOptimum: boolean;
}

type GroundSettings =
  | { readonly name: "model"; readonly model: ModelSettings }
  | { readonly name: "lab"; readonly lab: LabSettings };

export type GroundName = GroundSettings["name"];

/** Version of protocol and model. Increase it when a change invalidates old results. */
const VERSION = 3;
const LAB_VERSION = 2;

interface CellChoice {
  readonly grounds: readonly GroundName[];
  readonly only: Labels;
}

/** Rotates contenders within each trial, so that drift of the machine affects all alike. */
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

/** The lab runs in real time, with all times given: it never waits for a steady state. */
function labTimes(
  { load }: Point,
  { warmUpSeconds = load.warmUpSeconds, durationSeconds }: LabSettings,
): Pick<Point["load"], "warmUpSeconds" | "steadyWithinSeconds" | "durationSeconds"> {
  return { warmUpSeconds, steadyWithinSeconds: 0, durationSeconds };
}

function seedOf(...parts: readonly (string | number)[]): number {
  return createHash("sha256").update(parts.join("\u0000")).digest().readUInt32BE(0);
}

/** Equal hashes identify the same measurement. @param by name of the contender's scheduler */
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

/** Relative work of a cell: number of requests if all rounds are used. */
export function weightOf({ point, protocol }: Cell): number {
  const { users, requestsPerSecondPerUser, warmUpSeconds, durationSeconds } = point.load;
  const seconds = protocol.learnSeconds * 3 + warmUpSeconds + durationSeconds;
  return users * requestsPerSecondPerUser * seconds * point.workflow.workloads.length;
}
