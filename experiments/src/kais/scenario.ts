import { recordOf } from "@isochrone/primitives";
import { axisPoints } from "../scenario/axes.ts";
import type { Field } from "../scenario/field.ts";
import { openScenario, readContenders, readHead, type ScenarioHead } from "../scenario/head.ts";
import type { Labels } from "../scenario/model.ts";
import { closeSheet } from "../scenario/sheet.ts";
import { KAIS_CONTENDERS, type KaisContender } from "./contenders.ts";
import { PATTERNS, type SystemSettings } from "./requests/settings.ts";
import { TRAINED, type TrainingPlan } from "./training/learned.ts";

export interface KaisPoint {
  readonly id: string;
  readonly labels: Labels;
  readonly system: SystemSettings;
}

export interface KaisScenario extends ScenarioHead {
  readonly claims: readonly KaisClaim[];
  readonly seed: number;
  readonly runs: number;
  readonly contenders: readonly KaisContender[];
  readonly baseline: KaisContender;
  readonly points: readonly KaisPoint[];
  /** Null: no training. The system is that of the scenario without axes. */
  readonly training: TrainingPlan | null;
}

/** A claim of a source: at these points, a contender's figure is at least this multiple of another's. */
export interface KaisClaim {
  readonly text: string;
  readonly figure: (typeof CLAIM_FIGURES)[number];
  readonly of: KaisContender;
  readonly than: KaisContender;
  readonly least: number | null;
  readonly most: number | null;
  readonly where: Labels;
}

const CLAIM_FIGURES = ["inTime", "movedGb"] as const;
const KEYS = [
  "kind",
  "title",
  "question",
  "source",
  "threats",
  "claims",
  "seed",
  "runs",
  "baseline",
  "contenders",
  "axes",
  "system",
  "case",
  "training",
  "quick",
];
const QUICK_KEYS = ["runs", "contenders", "axes", "system"];
const SYSTEM_KEYS = [
  "sites",
  "nodesPerSite",
  "slot",
  "frame",
  "ownRtt",
  "otherRtt",
  "cloudRtt",
  "uplinkMegabits",
  "gossip",
  "perSecond",
  "pattern",
  "duration",
  "workScale",
  "hotShare",
] as const;
const MAX_NODES = 1_000;

export function readKaisScenario(text: string, file: string, quick = false): KaisScenario {
  const { sheet, plain, root } = openScenario(text, file, { all: KEYS, quick: QUICK_KEYS }, quick);
  const scenario: KaisScenario = {
    ...readHead(root, file),
    claims: root.get("claims").list().map(readClaim),
    seed: root.get("seed").number({ min: 0, max: 2 ** 20, whole: true }),
    runs: root.get("runs").number({ min: 1, max: 1_000, whole: true }),
    ...readContenders(root, KAIS_CONTENDERS),
    points: axisPoints(root.get("axes")).map(({ id, labels, nodes }) => ({
      id,
      labels,
      system: readSystem(root.withAxes(nodes)),
    })),
    training: readTraining(plain),
  };
  closeSheet(sheet, file);
  return scenario;
}

function readTraining(root: Field): TrainingPlan | null {
  const field = root.get("training");
  if (!field.isPresent) return null;
  field.map("seed", "decisions");
  const decisions = field.get("decisions").map(...TRAINED);
  return {
    seed: field.get("seed").number({ min: 1, max: 1_000, whole: true }),
    decisions: recordOf(TRAINED, (id) => decisions.get(id).number({ min: 1_000, max: 1e8, whole: true })),
    system: readSystem(root, false),
  };
}

function readSystem(root: Field, hasCase = true): SystemSettings {
  const system = root.get("system").map(...SYSTEM_KEYS);
  const own = hasCase ? root.get("case") : null;
  if (own?.isMap === true) own.map(...SYSTEM_KEYS);
  const get = (key: (typeof SYSTEM_KEYS)[number]): Field =>
    own?.isMap === true && own.get(key).isPresent ? own.get(key) : system.get(key);
  const milliseconds = (field: Field): number => field.seconds({ above: 0 }) * 1e3;
  const slot = get("slot");
  const perSite = get("nodesPerSite");
  const whole = { min: 1, max: MAX_NODES, whole: true } as const;
  return {
    sites: get("sites").number({ min: 1, max: 100, whole: true }),
    nodesPerSite: perSite.isList ? perSite.someList().map((n) => n.number(whole)) : [perSite.number(whole)],
    slotSeconds: slot.isText("none") ? null : slot.seconds({ above: 0 }),
    frameSeconds: get("frame").seconds({ above: 0 }),
    ownMs: milliseconds(get("ownRtt")),
    otherMs: milliseconds(get("otherRtt")),
    cloudMs: milliseconds(get("cloudRtt")),
    uplinkMegabits: get("uplinkMegabits").number({ above: 0, max: 1e6 }),
    gossipSeconds: get("gossip").seconds({ above: 0 }),
    perSecond: get("perSecond").number({ above: 0, max: 10_000 }),
    pattern: get("pattern").oneOf(PATTERNS),
    seconds: get("duration").seconds({ above: 0 }),
    workScale: get("workScale").number({ above: 0, max: 100 }),
    hotShare: get("hotShare").number({ min: 0, max: 1 }),
  };
}

function readClaim(field: Field): KaisClaim {
  field.map("text", "figure", "of", "than", "least", "most", "where");
  const where = field.get("where");
  return {
    text: field.get("text").text(),
    figure: field.get("figure").oneOf(CLAIM_FIGURES),
    of: field.get("of").oneOf(KAIS_CONTENDERS),
    than: field.get("than").oneOf(KAIS_CONTENDERS),
    least: field.get("least").numberOr(null, { above: 0 }),
    most: field.get("most").numberOr(null, { above: 0 }),
    where: Object.fromEntries(where.keys().map((key) => [key, where.get(key).text()])),
  };
}
