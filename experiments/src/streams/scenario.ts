import { keysOf } from "@isochrone/primitives";
import { axisPoints } from "../scenario/axes.ts";
import type { Field } from "../scenario/field.ts";
import { openScenario, readContenders, readHead, type ScenarioHead } from "../scenario/head.ts";
import type { Labels } from "../scenario/model.ts";
import { closeSheet } from "../scenario/sheet.ts";

export const WHO = {
  lr: "LeastRequestedPriority of kube-scheduler: the whole job on one node",
  br: "BalancedResourceAllocation of kube-scheduler: the whole job on one node",
  tp: "tasks placed by Algorithm 1, shortest paths, links shared equally by flows",
  "tp-tcp": "as tp, links shared as TCP shares them",
  otfs: "Algorithm 3; a job for which no bandwidth is left runs without any",
  "otfs-wait": "Algorithm 3; a job for which no bandwidth is left waits",
  otfa: "Algorithm 4 as printed",
  "otfa-repaired": "Algorithm 4, ties broken by length, capacity that is left given to jobs",
  joint: "Isochrone: nodes, paths and rates by one search, rates by job",
} as const;
export type StreamContender = keyof typeof WHO;
const STREAM_CONTENDERS: readonly StreamContender[] = keysOf(WHO);

export interface StreamPoint {
  readonly id: string;
  readonly labels: Labels;
  readonly network: {
    readonly nodes: number;
    /** Mean over links. */
    readonly megabitsPerSecond: number;
    /** Relative to the squared mean. */
    readonly variance: number;
    /** Mean links per node. */
    readonly degree: number;
    /** @default "half", as in the paper */
    readonly duplex?: "full";
  };
  readonly jobs: {
    readonly count: number;
    readonly perSecond: number;
    readonly durationSeconds: number;
    readonly bytesPerFrame: number;
    /** Frames per second; null: no guarantee. */
    readonly minThroughput: number | null;
  };
  readonly changes: readonly ChangeSpec[];
}

const CHANGE_KINDS = ["links", "node", "job"] as const;

/** Random links lose capacity, a random VM that is no job's source dies, or the oldest job leaves. */
interface ChangeSpec {
  readonly atSeconds: number;
  readonly kind: (typeof CHANGE_KINDS)[number];
  /** Share of the links, and the remaining share of their capacity. Only for `links`. */
  readonly part: number;
  readonly factor: number;
}

export interface StreamScenario extends ScenarioHead {
  readonly claims: readonly Claim[];
  readonly seed: number;
  /** Random networks with their own jobs, the same for all contenders. */
  readonly networks: number;
  readonly contenders: readonly StreamContender[];
  readonly baseline: StreamContender;
  readonly points: readonly StreamPoint[];
  /** Settings of the lab; null: no lab. */
  readonly lab: PacketSettings | null;
}

interface PacketSettings {
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

export interface Claim {
  readonly text: string;
  readonly statistic: Statistic;
  readonly higher: StreamContender;
  readonly lower: StreamContender;
  readonly where: Labels;
}

const STATISTICS = ["throughput", "waited"] as const;
type Statistic = (typeof STATISTICS)[number];

const KEYS = [
  "kind",
  "title",
  "question",
  "source",
  "threats",
  "claims",
  "seed",
  "networks",
  "baseline",
  "contenders",
  "axes",
  "network",
  "jobs",
  "changes",
  "lab",
  "quick",
];
const QUICK_KEYS = ["networks", "contenders", "axes", "jobs"];
const MAX_NODES = 1_000;
const MAX_JOBS = 10_000;

export function readStreamScenario(text: string, file: string, quick = false): StreamScenario {
  const { sheet, root } = openScenario(text, file, { all: KEYS, quick: QUICK_KEYS }, quick);
  const scenario: StreamScenario = {
    ...readHead(root, file),
    claims: root
      .get("claims")
      .list()
      .map((claim) => readClaim(claim)),
    seed: root.get("seed").number({ min: 0, max: 2 ** 31, whole: true }),
    networks: root.get("networks").number({ min: 1, max: 1_000, whole: true }),
    ...readContenders(root, STREAM_CONTENDERS),
    points: axisPoints(root.get("axes")).map(({ id, labels, nodes }) =>
      readPoint(id, labels, root.withAxes(nodes)),
    ),
    lab: readLab(root.get("lab")),
  };
  closeSheet(sheet, file);
  return scenario;
}

function readLab(field: Field): PacketSettings | null {
  if (!field.isPresent) return null;
  field.map("warmUp", "duration");
  return {
    warmUpSeconds: field.get("warmUp").seconds({ min: 0 }),
    seconds: field.get("duration").seconds({ above: 0 }),
  };
}

function readPoint(id: string, labels: Labels, root: Field): StreamPoint {
  const network = root.get("network").map("nodes", "megabitsPerSecond", "variance", "degree", "duplex");
  const jobs = root
    .get("jobs")
    .map("count", "perNode", "perSecond", "duration", "bytesPerFrame", "minThroughput");
  return {
    id,
    labels,
    network: {
      nodes: network.get("nodes").number({ min: 2, max: MAX_NODES, whole: true }),
      megabitsPerSecond: network.get("megabitsPerSecond").number({ above: 0, max: 1e6 }),
      variance: network.get("variance").number({ min: 0, max: 1 }),
      degree: network.get("degree").number({ min: 1, max: MAX_NODES }),
      ...(network.get("duplex").isPresent ? { duplex: network.get("duplex").oneOf(["full"]) } : {}),
    },
    jobs: {
      count: countOf(jobs, network.get("nodes").number()),
      perSecond: jobs.get("perSecond").number({ above: 0 }),
      durationSeconds: jobs.get("duration").seconds({ above: 0 }),
      bytesPerFrame: jobs.get("bytesPerFrame").number({ min: 1, max: 2 ** 30, whole: true }),
      minThroughput: jobs.get("minThroughput").numberOr(null, { above: 0 }),
    },
    changes: root
      .get("changes")
      .list()
      .map(readChange)
      .sort((a, b) => a.atSeconds - b.atSeconds),
  };
}

function countOf(jobs: Field, nodes: number): number {
  if (!jobs.get("perNode").isPresent) return jobs.get("count").number({ min: 1, max: MAX_JOBS, whole: true });
  if (jobs.get("count").isPresent) jobs.get("perNode").fail("must not be given beside count");
  return Math.max(1, Math.round(nodes * jobs.get("perNode").number({ above: 0, max: 100 })));
}

function readChange(field: Field): ChangeSpec {
  const kind = field.get("kind").oneOf(CHANGE_KINDS);
  field.map("at", "kind", ...(kind === "links" ? ["part", "factor"] : []));
  return {
    atSeconds: field.get("at").seconds({ above: 0 }),
    kind,
    part: kind === "links" ? field.get("part").number({ above: 0, max: 1 }) : 0,
    factor: kind === "links" ? field.get("factor").number({ above: 0, max: 1 }) : 1,
  };
}

function readClaim(field: Field): Claim {
  field.map("text", "statistic", "higher", "lower", "where");
  const where = field.get("where");
  return {
    text: field.get("text").text(),
    statistic: field.get("statistic").isPresent ? field.get("statistic").oneOf(STATISTICS) : "throughput",
    higher: field.get("higher").oneOf(STREAM_CONTENDERS),
    lower: field.get("lower").oneOf(STREAM_CONTENDERS),
    where: Object.fromEntries(where.keys().map((key) => [key, where.get(key).number()])),
  };
}
