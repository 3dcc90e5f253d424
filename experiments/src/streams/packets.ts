// The lab: the jobs of a point on namespaces and cables, with frames of real size over TCP.
import { createHash } from "node:crypto";
import { MeshLab, runStages, type MeshFlow, type MeshLink, type StagedJob } from "@isochrone/lab/mesh";
import type { LinearSolver } from "@isochrone/primitives/algorithms";
import { schedule, StreamSystem, type FlowNetwork, type PlacedJob } from "@isochrone/streams";
import type { ResultStore } from "../run/store.ts";
import type { Labels } from "../scenario/model.ts";
import { mean } from "../statistics/mean.ts";
import type { StreamContender, StreamPoint, StreamScenario } from "./scenario.ts";
import { setUp, strategyOf } from "./set-up.ts";

/** What the packets of one contender's plan made on one network. */
export interface PacketResult {
  readonly hash: string;
  readonly point: string;
  readonly labels: Labels;
  readonly contender: StreamContender;
  /** Which network of the point, from 0. */
  readonly network: number;
  /** Frames per second, means over the jobs: as the strategy says, and as the last task saw them. */
  readonly predicted: number;
  readonly measured: number;
  /** By job: measured over predicted. */
  readonly ratios: readonly number[];
}

/** Higher when the lab or a contender changes. */
const VERSION = 1;
const FIRST_PORT = 20_000;
const BITS_PER_BYTE = 8;

interface PacketRunOptions {
  readonly scenario: StreamScenario;
  readonly points: readonly StreamPoint[];
  readonly store: ResultStore<PacketResult>;
  readonly solve: LinearSolver;
  readonly onProgress: (done: number, total: number, what: string) => void;
  readonly signal: AbortSignal;
}

/** One plan at a time. Returns results in the order of points, networks and contenders. */
export async function runPackets(
  options: PacketRunOptions,
): Promise<{ results: readonly PacketResult[]; measured: number }> {
  const { scenario, points, store, solve, onProgress, signal } = options;
  const total = points.length * scenario.networks * scenario.contenders.length;
  const results: PacketResult[] = [];
  let measured = 0;
  for (const point of points)
    for (let network = 0; network < scenario.networks; network++)
      for (const contender of scenario.contenders) {
        signal.throwIfAborted();
        const hash = hashOf(scenario, point, network, contender);
        let result = store.known.get(hash);
        if (result === undefined) {
          onProgress(results.length, total, `packets ${point.id} ${contender}, network ${network + 1}`);
          result = { hash, ...(await measure(scenario, point, network, contender, solve)) };
          store.add(result);
          measured++;
        }
        results.push(result);
      }
  return { results, measured };
}

async function measure(
  scenario: StreamScenario,
  point: StreamPoint,
  network: number,
  contender: StreamContender,
  solve: LinearSolver,
): Promise<Omit<PacketResult, "hash">> {
  const { built, arrivals } = setUp(scenario.seed, point, network);
  const system = new StreamSystem(built.network, built.total);
  const strategy = strategyOf(contender, solve);
  for (const { job } of arrivals) await schedule(strategy, system, [job], false);
  const { flows, jobs } = planOf(system.running, isShaped(contender));
  const lab = await MeshLab.create({ nodes: built.network.nodes.length, links: cablesOf(built.network) });
  try {
    await lab.apply(flows);
    const frames = await runStages(lab, jobs, scenario.lab!);
    const predicted = system.running.map(({ throughput }) => throughput);
    return {
      point: point.id,
      labels: point.labels,
      contender,
      network,
      predicted: mean(predicted),
      measured: mean(frames),
      ratios: frames.map((each, at) => each / predicted[at]!),
    };
  } finally {
    await lab.close();
  }
}

/** Contenders that allocate bandwidth; the others' flows share links as TCP does. */
function isShaped(contender: StreamContender): boolean {
  return !["lr", "br", "tp", "tp-tcp"].includes(contender);
}

function cablesOf(network: FlowNetwork): MeshLink[] {
  return network.nodes.flatMap((_, a) =>
    network
      .arcsFrom(a)
      .filter(({ target }) => target > a)
      .map(({ target: b, capacity }) => ({ a, b, bitsPerSecond: network.capacities[capacity]! })),
  );
}

/** Each flow has a port of its own. */
function planOf(running: readonly PlacedJob[], hasRates: boolean): { flows: MeshFlow[]; jobs: StagedJob[] } {
  const flows: MeshFlow[] = [];
  const jobs = running.map(({ job, hosts, flows: placed }): StagedJob => {
    const nodes = job.secondsPerFrame.length / job.tasks.length;
    const ports = new Map<number, number>();
    for (const { dependency, path, bitsPerSecond, bitsPerFrame } of placed) {
      const port = FIRST_PORT + flows.length;
      ports.set(dependency, port);
      const rate = hasRates ? bitsPerSecond : null;
      const bytesPerFrame = bytesOf(bitsPerFrame);
      flows.push({ port, path: path.nodes, bitsPerSecond: rate, bytesPerFrame });
    }
    return {
      name: job.name,
      source: job.source,
      tasks: hosts.map((node, task) => ({
        node,
        secondsPerFrame: job.secondsPerFrame[task * nodes + node]!,
      })),
      dependencies: job.dependencies.map(({ source, target, bitsPerFrame }, at) => ({
        source,
        target,
        bytesPerFrame: bytesOf(bitsPerFrame),
        port: ports.get(at) ?? null,
      })),
    };
  });
  return { flows, jobs };
}

function bytesOf(bitsPerFrame: number): number {
  return Math.max(1, Math.round(bitsPerFrame / BITS_PER_BYTE));
}

function hashOf(
  { seed, lab }: StreamScenario,
  point: StreamPoint,
  network: number,
  contender: StreamContender,
): string {
  const text = JSON.stringify([VERSION, seed, lab, point.network, point.jobs, network, contender]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
