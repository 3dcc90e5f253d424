import { readTextFile } from "@isochrone/runtime";
import { reasonOf } from "@isochrone/primitives";
import { axisPoints, hasLabels } from "./axes.ts";
import type { AxisPoint } from "./axes.ts";
import { callersFirst, labMistakes, pointMistakes } from "./check-point.ts";
import { ScenarioError } from "./errors.ts";
import type { Field, Sheet } from "./field.ts";
import { openScenario, readContenders, readHead } from "./head.ts";
import { CONTENDERS } from "./model.ts";
import type { LabSettings, Labels, Point, PointLoad, Protocol, Reference, Scenario } from "./model.ts";
import { readChanges } from "./read-changes.ts";
import { readCluster } from "./read-cluster.ts";
import { readWorkflow } from "./read-workflow.ts";
import { closeSheet } from "./sheet.ts";

interface ReadOptions {
  /** Applies the file's `quick` section: fewer points and trials, shorter times. */
  readonly quick?: boolean;
}

const KEYS = [
  "title",
  "question",
  "source",
  "threats",
  "references",
  "seed",
  "trials",
  "baseline",
  "contenders",
  "protocol",
  "axes",
  "cluster",
  "workflow",
  "load",
  "changes",
  "grounds",
  "quick",
];
const QUICK_KEYS = ["trials", "contenders", "protocol", "axes", "load", "changes", "grounds"];
const MAX_TRIALS = 1000;
const MAX_LAB_SCALE = 1000;
const DEFAULT_PROTOCOL: Protocol = { learnSeconds: 30, rounds: 10, roundSeconds: 10 };

export function loadScenario(file: string, options: ReadOptions = {}): Scenario {
  return readScenario(readScenarioFile(file), file, options);
}

/** Throws ScenarioError if the file is unreadable. */
export function readScenarioFile(file: string): string {
  try {
    return readTextFile(file);
  } catch (cause) {
    throw new ScenarioError(file, [{ line: 1, message: `can't be read: ${reasonOf(cause)}` }], {
      cause,
    });
  }
}

/** Parses a scenario. Throws ScenarioError with all mistakes of the file. */
export function readScenario(text: string, file: string, options: ReadOptions = {}): Scenario {
  const keys = { all: KEYS, quick: QUICK_KEYS };
  const { sheet, plain, root } = openScenario(text, file, keys, options.quick === true);
  const scenario = read(plain, root, file, sheet);
  closeSheet(sheet, file);
  return scenario;
}

function read(plain: Field, root: Field, file: string, sheet: Sheet): Scenario {
  const axes = axisPoints(root.get("axes"));
  // A quick run has fewer points than the lab's list.
  const labels = [...axes, ...axisPoints(plain.get("axes"))].map((point) => point.labels);
  const grounds = root.get("grounds").map("model", "lab");
  return {
    ...readHead(root, file),
    references: root
      .get("references")
      .list()
      .map((item) => readReference(item, root.get("axes"))),
    ...readContenders(root, CONTENDERS),
    trials: root.get("trials").number({ min: 1, max: MAX_TRIALS, whole: true }),
    seed: root.get("seed").number({ min: 0, max: 2 ** 31, whole: true }),
    protocol: readProtocol(root.get("protocol")),
    grounds: {
      model: grounds.get("model").isPresent
        ? { hopMs: grounds.get("model").map("hopMs").get("hopMs").number({ min: 0, max: 1000 }) }
        : null,
      lab: grounds.get("lab").isPresent ? readLab(grounds.get("lab"), labels) : null,
    },
    points: axes.map((axis) => readPoint(root, axis, file, sheet)),
  };
}

function readProtocol(field: Field): Protocol {
  if (!field.isPresent) return DEFAULT_PROTOCOL;
  field.map("learn", "rounds", "round");
  const seconds = (key: string, otherwise: number): number =>
    field.get(key).isPresent ? field.get(key).seconds({ above: 0 }) : otherwise;
  return {
    learnSeconds: seconds("learn", DEFAULT_PROTOCOL.learnSeconds),
    rounds: field.get("rounds").numberOr(DEFAULT_PROTOCOL.rounds, { min: 0, max: 1000, whole: true }),
    roundSeconds: seconds("round", DEFAULT_PROTOCOL.roundSeconds),
  };
}

function readReference(item: Field, axes: Field): Reference {
  item.map("text", "where", "change", "contender", "statistic");
  const statistic = item.get("statistic");
  const where = item.get("where");
  for (const key of where.keys())
    if (!axes.keys().includes(key))
      where.get(key).fail(`must be an axis (${axes.keys().join(", ")}), got ${key}`);
  return {
    text: item.get("text").text(),
    where: readLabels(where),
    change: item.get("change").number({ min: -1 }),
    contender: item.get("contender").oneOf(CONTENDERS),
    ...(statistic.isPresent ? { statistic: statistic.oneOf(["p95", "mean", "throughput"]) } : {}),
  };
}

function readLabels(field: Field): Labels {
  return Object.fromEntries(
    field.keys().map((key) => {
      const text = field.get(key).text();
      const number = Number(text);
      return [key, text !== "" && Number.isFinite(number) ? number : text];
    }),
  );
}

function readLab(field: Field, points: readonly Labels[]): LabSettings {
  field.map("scale", "only", "learn", "warmUp", "duration", "trials");
  const only = field
    .get("only")
    .list()
    .map((item) => ({ item, labels: readLabels(item) }));
  for (const { item, labels } of only)
    if (!points.some((point) => hasLabels(point, labels)))
      item.fail(`must be labels of a point, got ${JSON.stringify(labels)}`);
  return {
    scale: field.get("scale").number({ min: 1, max: MAX_LAB_SCALE }),
    only: only.map(({ labels }) => labels),
    ...(field.get("learn").isPresent ? { learnSeconds: field.get("learn").seconds({ above: 0 }) } : {}),
    ...(field.get("warmUp").isPresent ? { warmUpSeconds: field.get("warmUp").seconds({ min: 0 }) } : {}),
    durationSeconds: field.get("duration").seconds({ above: 0 }),
    trials: field.get("trials").number({ min: 1, max: MAX_TRIALS, whole: true }),
  };
}

function readPoint(plain: Field, axis: AxisPoint, file: string, sheet: Sheet): Point {
  const before = sheet.issues.length;
  const root = plain.withAxes(axis.nodes);
  const cluster = readCluster(root.get("cluster"), file);
  const workflow = readWorkflow(root.get("workflow"));
  const load = readLoad(root.get("load"));
  const changes = readChanges(root.get("changes"), cluster, workflow, load);
  const point: Point = { id: axis.id, labels: axis.labels, cluster, workflow, load, changes };
  // An unreadable point would cause misleading further mistakes.
  if (sheet.issues.length > before) return point;
  const workloads = root.get("workflow").get("workloads");
  const hasLab = root.get("grounds").get("lab").isPresent;
  for (const { part, workload, message } of [
    ...pointMistakes(point),
    ...(hasLab ? labMistakes(point) : []),
  ]) {
    const item = workloads.list().find((each) => workload !== undefined && each.get("name").isText(workload));
    if (item === undefined) root.get(part).fail(`${workload === undefined ? "" : `${workload} `}${message}`);
    else item.fail(`(${workload}) ${message}`);
  }
  return {
    ...point,
    workflow: { ...workflow, workloads: callersFirst(workflow.workloads) ?? workflow.workloads },
  };
}

function readLoad(field: Field): PointLoad {
  field.map("users", "requestsPerSecondPerUser", "warmUp", "steadyWithin", "duration");
  return {
    users: field.get("users").number({ min: 1, whole: true }),
    requestsPerSecondPerUser: field.get("requestsPerSecondPerUser").numberOr(1, { above: 0, max: 1000 }),
    warmUpSeconds: field.get("warmUp").seconds(),
    ...(field.get("steadyWithin").isPresent
      ? { steadyWithinSeconds: field.get("steadyWithin").seconds({ min: 0 }) }
      : {}),
    durationSeconds: field.get("duration").seconds({ above: 0 }),
  };
}
