// Runs the jobs of a point in the lab: namespaces, virtual links, frames of real size over TCP.
import { MeshLab, runStages, type MeshFlow, type MeshLink, type StagedJob } from "@isochrone/lab/mesh";
import type { LinearSolver } from "@isochrone/primitives/algorithms";
import { schedule, StreamSystem, type FlowNetwork, type PlacedJob } from "@isochrone/streams";
import { combinations, hashOf, type Measurement } from "../frame/bench.ts";
import type { Labels } from "../scenario/model.ts";
import { mean } from "../statistics/mean.ts";
import type { StreamCellOptions } from "./cells.ts";
import type { StreamContender, StreamPoint, StreamScenario } from "./scenario.ts";
import { setUp, strategyOf } from "./set-up.ts";

export interface PacketResult {
  readonly hash: string;
  readonly point: string;
  readonly labels: Labels;
  readonly contender: StreamContender;
  readonly network: number;
  /** Mean frames per second over jobs: predicted by the strategy, and received by the last task. */
  readonly predicted: number;
  readonly measured: number;
  /** Measured over predicted, by job. */
  readonly ratios: readonly number[];
}

/** Increase it when the lab or a contender changes. */
const VERSION = 1;
const FIRST_PORT = 20_000;
const BITS_PER_BYTE = 8;

/** Measures one plan at a time, because it needs the whole machine. */
export function packetCells({ scenario, points, solve }: StreamCellOptions): Measurement<PacketResult>[] {
  const { seed, lab, networks: runs, contenders } = scenario;
  return combinations({ points, runs, contenders }, (point, network, contender) => {
    const hash = hashOf([VERSION, seed, lab, point.network, point.jobs, network, contender]);
    return {
      hash,
      what: `packets ${point.id} ${contender}, network ${network + 1}`,
      measure: async () => {
        const measured = await measure(scenario, point, network, contender, solve);
        return { hash, point: point.id, labels: point.labels, contender, network, ...measured };
      },
    };
  });
}

async function measure(
  scenario: StreamScenario,
  point: StreamPoint,
  network: number,
  contender: StreamContender,
  solve: LinearSolver,
): Promise<Pick<PacketResult, "measured" | "predicted" | "ratios">> {
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
      predicted: mean(predicted),
      measured: mean(frames),
      ratios: frames.map((each, at) => each / predicted[at]!),
    };
  } finally {
    await lab.close();
  }
}

/** True for contenders that allocate bandwidth. Flows of others share links by TCP. */
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
