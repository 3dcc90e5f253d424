import { createHash } from "node:crypto";
import type { LinearSolver } from "@isochrone/primitives/algorithms";
import { seededRandom } from "@isochrone/runtime";
import {
  balancedAllocation,
  joint,
  leastRequested,
  otfa,
  otfs,
  partitioned,
  type StreamStrategy,
} from "@isochrone/streams";
import { randomNetwork, videoJob, type Arrival, type SystemChange } from "@isochrone/streams/simulation";
import type { StreamContender, StreamPoint } from "./scenario.ts";

const MEGABIT = 1e6;

interface SetUp {
  readonly built: ReturnType<typeof randomNetwork>;
  readonly arrivals: readonly Arrival[];
  readonly changes: readonly SystemChange[];
}

export function setUp(seed: number, point: StreamPoint, network: number): SetUp {
  const random = seededRandom(seedOf(seed, point, network));
  const draw = (): number => random.next();
  const { nodes, megabitsPerSecond, variance, degree, duplex = "half" } = point.network;
  const bitsPerSecond = megabitsPerSecond * MEGABIT;
  const built = randomNetwork({ nodes, bitsPerSecond, variance, degree, duplex, draw });
  const changes = changesOf(built, point, seededRandom(seedOf(seed, point, network) + 1));
  return { built, changes, arrivals: arrivalsOf(built, point.jobs, draw, lostNodes(changes)) };
}

function arrivalsOf(
  network: Parameters<typeof videoJob>[0],
  { count, perSecond, durationSeconds, bytesPerFrame, minThroughput }: StreamPoint["jobs"],
  draw: () => number,
  notSources: ReadonlySet<number>,
): Arrival[] {
  let atSeconds = 0;
  return Array.from({ length: count }, (_, at) => {
    atSeconds -= Math.log(1 - draw()) / perSecond;
    let source = Math.floor(draw() * network.speeds.length);
    while (notSources.has(source)) source = (source + 1) % network.speeds.length;
    const promise = minThroughput === null ? {} : { minThroughput };
    const job = videoJob(network, { name: `job-${at + 1}`, source, bytesPerFrame, ...promise });
    return { atSeconds, durationSeconds, job };
  });
}

/** Draws the changes once per network, the same for all contenders. */
function changesOf(
  { network, speeds }: ReturnType<typeof randomNetwork>,
  { changes }: StreamPoint,
  random: ReturnType<typeof seededRandom>,
): SystemChange[] {
  const fastest = Math.max(...speeds);
  const machines = [...speeds.keys()].filter((node) => speeds[node] === fastest);
  return changes.map(({ kind, atSeconds, part, factor }): SystemChange => {
    switch (kind) {
      case "links": {
        const links = [...network.capacities.keys()].filter(() => random.next() < part);
        return { kind, atSeconds, links, factor };
      }
      case "node":
        return { kind, atSeconds, node: machines[Math.floor(random.next() * machines.length)]! };
      case "job":
        return { kind, atSeconds };
      default:
        throw new TypeError(`kind of a change must be known, got ${String(kind satisfies never)}`);
    }
  });
}

function lostNodes(changes: readonly SystemChange[]): ReadonlySet<number> {
  return new Set(changes.flatMap((change) => (change.kind === "node" ? [change.node] : [])));
}

const STRATEGIES: Readonly<Record<StreamContender, (solve: LinearSolver) => StreamStrategy>> = {
  lr: () => leastRequested(),
  br: () => balancedAllocation(),
  tp: () => partitioned(),
  "tp-tcp": () => partitioned("tcp"),
  otfs: (solve) => otfs({ solve }),
  "otfs-wait": (solve) => otfs({ solve, withoutBandwidth: "wait" }),
  otfa: (solve) => otfa({ solve }),
  "otfa-repaired": (solve) => otfa({ solve, repaired: true }),
  joint: () => joint(),
};

export function strategyOf(contender: StreamContender, solve: LinearSolver): StreamStrategy {
  return STRATEGIES[contender](solve);
}

function seedOf(seed: number, point: StreamPoint, network: number): number {
  const text = JSON.stringify([seed, point.network.nodes, network]);
  return createHash("sha256").update(text).digest().readUInt32LE(0);
}
