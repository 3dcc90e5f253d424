// Runs a scenario of streams: each point's random networks, each with the same jobs for all contenders.
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { quantile, type LinearSolver } from "@isochrone/primitives";
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
import {
  randomNetwork,
  simulate,
  videoJob,
  type Arrival,
  type SimulationResult,
  type SystemChange,
} from "@isochrone/streams/simulation";
import type { ResultStore } from "../run/store.ts";
import type { Labels } from "../scenario/model.ts";
import { mean } from "../statistics/mean.ts";
import type { StreamContender, StreamPoint, StreamScenario } from "./scenario.ts";

/** What one contender made of one network. */
export interface StreamResult {
  readonly hash: string;
  readonly point: string;
  readonly labels: Labels;
  readonly contender: StreamContender;
  /** Which network of the point, from 0. */
  readonly network: number;
  /** Frames per second: mean of the jobs' throughputs, their 10 % quantile, the slowest job. */
  readonly throughput: number;
  readonly p10: number;
  readonly worst: number;
  /** Frames per second since submission, mean over the jobs. */
  readonly sinceSubmission: number;
  /** Seconds from submission to placement, mean over the jobs that ran. */
  readonly waited: number;
  readonly neverRan: number;
  /** Part of the jobs' time at or above their promise; null without promises. */
  readonly kept: number | null;
  readonly reroutes: number;
  readonly moves: number;
  /** CPU milliseconds of a decision, mean. */
  readonly decisionMs: number;
}

/** What has an influence on results besides the scenario: higher when the set-up or a contender changes. */
const VERSION = 1;
const CONTENDER_VERSIONS: Readonly<Partial<Record<StreamContender, number>>> = { joint: 2 };
const MEGABIT = 1e6;

interface StreamRunOptions {
  readonly scenario: StreamScenario;
  readonly store: ResultStore<StreamResult>;
  /** Only points with these labels. */
  readonly only: Labels;
  readonly solve: LinearSolver;
  readonly onProgress: (done: number, total: number, what: string) => void;
  readonly signal: AbortSignal;
}

/**
 * @returns results in the order of points, networks and contenders, and how many were measured now. Rejects
 * with the signal's reason.
 */
export async function runStreams(
  options: StreamRunOptions,
): Promise<{ results: readonly StreamResult[]; measured: number }> {
  const { scenario, store, only, solve, onProgress, signal } = options;
  const points = scenario.points.filter(({ labels }) =>
    Object.entries(only).every(([name, value]) => String(labels[name]) === String(value)),
  );
  const total = points.length * scenario.networks * scenario.contenders.length;
  const results: StreamResult[] = [];
  let measured = 0;
  for (const point of points)
    for (let network = 0; network < scenario.networks; network++)
      for (const contender of scenario.contenders) {
        signal.throwIfAborted();
        const hash = hashOf(scenario.seed, point, network, contender);
        let result = store.known.get(hash);
        if (result === undefined) {
          onProgress(results.length, total, `${point.id} ${contender}, network ${network + 1}`);
          // Signals and the progress line get their turn.
          await setImmediate();
          result = { hash, ...(await measure(scenario.seed, point, network, contender, solve)) };
          store.add(result);
          measured++;
        }
        results.push(result);
      }
  return { results, measured };
}

async function measure(
  seed: number,
  point: StreamPoint,
  network: number,
  contender: StreamContender,
  solve: LinearSolver,
): Promise<Omit<StreamResult, "hash">> {
  const random = seededRandom(seedOf(seed, point, network));
  const draw = (): number => random.next();
  const { nodes, megabitsPerSecond, variance, degree } = point.network;
  const built = randomNetwork({ nodes, bitsPerSecond: megabitsPerSecond * MEGABIT, variance, degree, draw });
  const changes = changesOf(built, point, seededRandom(seedOf(seed, point, network) + 1));
  const result = await simulate({
    network: built.network,
    total: built.total,
    arrivals: arrivalsOf(built, point.jobs, draw, lostNodes(changes)),
    ...(changes.length === 0 ? {} : { changes }),
    strategy: strategyOf(contender, solve),
    now: cpuMs,
  });
  return { point: point.id, labels: point.labels, contender, network, ...figuresOf(result) };
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

/** Each network has one lot of them, the same for all contenders. */
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

function figuresOf({ jobs, reroutes, moves, decisionsMs }: SimulationResult) {
  const throughputs = jobs.map(({ throughput }) => throughput);
  const ran = jobs.filter(({ waitedSeconds }) => waitedSeconds !== null);
  const kept = ran.flatMap((job) => (job.kept === null ? [] : [job.kept]));
  return {
    throughput: mean(throughputs),
    p10: quantile(throughputs, 0.1)!,
    worst: Math.min(...throughputs),
    sinceSubmission: mean(jobs.map(({ sinceSubmission }) => sinceSubmission)),
    waited: ran.length === 0 ? 0 : mean(ran.map(({ waitedSeconds }) => waitedSeconds!)),
    neverRan: jobs.length - ran.length,
    kept: kept.length === 0 ? null : mean(kept),
    reroutes,
    moves,
    decisionMs: mean(decisionsMs),
  };
}

function strategyOf(contender: StreamContender, solve: LinearSolver): StreamStrategy {
  switch (contender) {
    case "lr":
      return leastRequested();
    case "br":
      return balancedAllocation();
    case "tp":
      return partitioned();
    case "tp-tcp":
      return partitioned("tcp");
    case "otfs":
      return otfs({ solve });
    case "otfs-wait":
      return otfs({ solve, withoutBandwidth: "wait" });
    case "otfa":
      return otfa({ solve });
    case "otfa-repaired":
      return otfa({ solve, repaired: true });
    case "joint":
      return joint();
    default:
      throw new TypeError(`contender must be known, got ${String(contender satisfies never)}`);
  }
}

/** Of this process: wall-clock time says nothing on a busy machine. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function hashOf(seed: number, point: StreamPoint, network: number, contender: StreamContender): string {
  const version = CONTENDER_VERSIONS[contender] ?? VERSION;
  const text = JSON.stringify([
    version,
    seed,
    point.network,
    point.jobs,
    network,
    contender,
    ...point.changes,
  ]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** The same for all contenders. */
function seedOf(seed: number, point: StreamPoint, network: number): number {
  const text = JSON.stringify([seed, point.network.nodes, network]);
  return createHash("sha256").update(text).digest().readUInt32LE(0);
}
