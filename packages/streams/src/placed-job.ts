import { SOURCE, type StreamJob } from "./stream-job.ts";
import type { Path } from "./paths.ts";

/** What crosses the network for a job: a dependency between tasks on different nodes. */
export interface Flow {
  /** Index among the job's dependencies. */
  readonly dependency: number;
  /** Indexes of nodes. */
  readonly source: number;
  readonly target: number;
  readonly bitsPerFrame: number;
  readonly path: Path;
  /** What the network keeps for it. */
  readonly bitsPerSecond: number;
}

/** A flow that has no path yet. */
export type Demand = Pick<Flow, "dependency" | "source" | "target" | "bitsPerFrame">;

/** Nodes that a job doesn't run on. */
interface OtherNodes {
  /** Index of the node, by task. */
  readonly hosts: readonly number[];
  /** Frames per second that it would make there, beside the jobs that ran then. */
  readonly throughput: number;
}

/** A job with its nodes, routes and rates. */
export interface PlacedJob {
  readonly job: StreamJob;
  /** Index of the node, by task. */
  readonly hosts: readonly number[];
  /** Frames per second that its nodes can compute. */
  readonly computable: number;
  readonly flows: readonly Flow[];
  /** Frames per second that its nodes and flows allow. */
  readonly throughput: number;
  /**
   * The next best nodes found when it was placed. Absent: there were none, or the strategy looks for none.
   */
  readonly nextBest?: OtherNodes;
}

/** Node of a task, or of the source. */
export function hostOf(job: StreamJob, hosts: readonly number[], task: number): number {
  return task === SOURCE ? job.source : hosts[task]!;
}

/** Dependencies between different nodes, in the job's order. */
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
 * How the times of tasks on one node add up: `slowest`, since each task has its request for itself (ENTS,
 * equations 2 and 3), or `sum`, since they take turns (ENTS, Figure 2).
 */
export type Computing = "slowest" | "sum";

/** Frames per second that the nodes can compute (ENTS, equations 1 to 3). */
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

/** Frames per second of a job whose flows have these rates (ENTS, equations 1 and 2). */
export function throughputOf(
  most: number,
  flows: readonly Pick<Flow, "bitsPerFrame" | "bitsPerSecond">[],
): number {
  return flows.reduce((least, flow) => Math.min(least, flow.bitsPerSecond / flow.bitsPerFrame), most);
}

/** The same job with rates of its flows that follow `throughput`. */
export function atPace(placed: PlacedJob, throughput: number): PlacedJob {
  const flows = placed.flows.map((flow) => ({ ...flow, bitsPerSecond: flow.bitsPerFrame * throughput }));
  return { ...placed, flows, throughput };
}
