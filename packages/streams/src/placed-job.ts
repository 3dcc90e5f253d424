import { SOURCE, type StreamJob } from "./stream-job.ts";
import type { Path } from "./paths.ts";

export interface Flow {
  readonly dependency: number;
  readonly source: number;
  readonly target: number;
  readonly bitsPerFrame: number;
  readonly path: Path;
  /** Reserved bandwidth. */
  readonly bitsPerSecond: number;
}

export type Demand = Pick<Flow, "dependency" | "source" | "target" | "bitsPerFrame">;

interface OtherNodes {
  readonly hosts: readonly number[];
  /** Frames per second there, beside the jobs running at that time. */
  readonly throughput: number;
}

export interface PlacedJob {
  readonly job: StreamJob;
  readonly hosts: readonly number[];
  /** Frames per second allowed by its nodes. */
  readonly computable: number;
  readonly flows: readonly Flow[];
  /** Frames per second allowed by nodes and flows. */
  readonly throughput: number;
  /** The next best nodes at placement. Absent: none, or not searched. */
  readonly nextBest?: OtherNodes;
}

export function hostOf(job: StreamJob, hosts: readonly number[], task: number): number {
  return task === SOURCE ? job.source : hosts[task]!;
}

export function demandsOf(job: StreamJob, hosts: readonly number[]): Demand[] {
  const demands: Demand[] = [];
  for (const [dependency, { source, target, bitsPerFrame }] of job.dependencies.entries()) {
    const from = hostOf(job, hosts, source);
    const to = hostOf(job, hosts, target);
    if (from !== to) demands.push({ dependency, source: from, target: to, bitsPerFrame });
  }
  return demands;
}

/**
 * Combined time of tasks on one node: `slowest`, if each has its request to itself (ENTS, equations 2 and 3),
 * or `sum`, if they take turns (ENTS, Figure 2).
 */
export type Computing = "slowest" | "sum";

/** Frames per second allowed by the nodes (ENTS, equations 1 to 3). */
export function computable(
  job: StreamJob,
  hosts: readonly number[],
  computing: Computing = "slowest",
): number {
  const nodes = job.secondsPerFrame.length / job.tasks.length;
  const times = new Map<number, number>();
  let slowest = 0;
  for (const [task, host] of hosts.entries()) {
    const seconds = job.secondsPerFrame[task * nodes + host]!;
    const sum = (times.get(host) ?? 0) + seconds;
    times.set(host, sum);
    slowest = Math.max(slowest, computing === "sum" ? sum : seconds);
  }
  return 1 / slowest;
}

export function throughputOf(
  most: number,
  flows: readonly Pick<Flow, "bitsPerFrame" | "bitsPerSecond">[],
): number {
  return flows.reduce((least, flow) => Math.min(least, flow.bitsPerSecond / flow.bitsPerFrame), most);
}

export function atPace(placed: PlacedJob, throughput: number): PlacedJob {
  const flows = placed.flows.map((flow) => ({ ...flow, bitsPerSecond: flow.bitsPerFrame * throughput }));
  return { ...placed, flows, throughput };
}
