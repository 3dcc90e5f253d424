// Random networks per point, each with the same jobs for all contenders.
import { quantile } from "@isochrone/primitives";
import { type LinearSolver } from "@isochrone/primitives/algorithms";
import { simulate, type SimulationResult } from "@isochrone/streams/simulation";
import { combinations, hashOf, type Measurement } from "../frame/bench.ts";
import type { Labels } from "../scenario/model.ts";
import { mean } from "../statistics/mean.ts";
import type { StreamContender, StreamPoint, StreamScenario } from "./scenario.ts";
import { setUp, strategyOf } from "./set-up.ts";

export interface StreamResult {
  readonly hash: string;
  readonly point: string;
  readonly labels: Labels;
  readonly contender: StreamContender;
  readonly network: number;
  /** Frames per second over jobs: mean throughput, 10 % quantile, slowest job. */
  readonly throughput: number;
  readonly p10: number;
  readonly worst: number;
  /** Frames per second since submission, mean over jobs. */
  readonly sinceSubmission: number;
  /** Seconds from submission to placement, mean over jobs that ran. */
  readonly waited: number;
  readonly neverRan: number;
  /** Share of the jobs' time at or above their guarantee; null without guarantees. */
  readonly kept: number | null;
  readonly reroutes: number;
  readonly moves: number;
  /** Mean CPU milliseconds per decision. */
  readonly decisionMs: number;
}

/** Version of setup and contenders; increase it when they change. */
const VERSION = 1;
const CONTENDER_VERSIONS: Readonly<Partial<Record<StreamContender, number>>> = { joint: 3 };

export interface StreamCellOptions {
  readonly scenario: StreamScenario;
  readonly points: readonly StreamPoint[];
  readonly solve: LinearSolver;
}

export function streamCells({ scenario, points, solve }: StreamCellOptions): Measurement<StreamResult>[] {
  const { seed, networks: runs, contenders } = scenario;
  return combinations({ points, runs, contenders }, (point, network, contender) => {
    const version = CONTENDER_VERSIONS[contender] ?? VERSION;
    const hash = hashOf([version, seed, point.network, point.jobs, network, contender, ...point.changes]);
    return {
      hash,
      what: `${point.id} ${contender}, network ${network + 1}`,
      measure: async () => {
        const { built, arrivals, changes } = setUp(seed, point, network);
        const result = await simulate({
          network: built.network,
          total: built.total,
          arrivals,
          ...(changes.length === 0 ? {} : { changes }),
          strategy: strategyOf(contender, solve),
          now: cpuMs,
        });
        return { hash, point: point.id, labels: point.labels, contender, network, ...figuresOf(result) };
      },
    };
  });
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

/** CPU time of this process, because wall-clock time is unreliable on a busy machine. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
