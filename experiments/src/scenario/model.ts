// What an experiment is made of, once its file has been read and checked. A scenario is expanded into points;
// a point is measured for each contender, on each ground, in each trial: one cell.
import type { PairPrices } from "@isochrone/prices";
import type { Bytes, Millicores } from "@isochrone/primitives";
import type { ScenarioHead } from "./head.ts";

/** One experiment as declared. */
export interface Scenario extends ScenarioHead {
  /** What the source states, for the report's reference line; never a pass mark. */
  readonly references: readonly Reference[];
  /** In the order of the file; axes multiply. */
  readonly points: readonly Point[];
  readonly contenders: readonly ContenderId[];
  /** Whom the others are compared with. */
  readonly baseline: ContenderId;
  readonly trials: number;
  readonly seed: number;
  readonly protocol: Protocol;
  readonly grounds: Readonly<{ model: ModelSettings | null; lab: LabSettings | null }>;
}

/** How a trial goes; the same for all contenders. */
export interface Protocol {
  /** The stretch of which is learnt before the first round, and between rounds. */
  readonly learnSeconds: number;
  /** Rounds of re-placing before the measurement at most; a contender that makes no move ends them. */
  readonly rounds: number;
  /** In scenarios with changes: a round while it is measured after so many seconds each. */
  readonly roundSeconds: number;
}

export interface Reference {
  readonly text: string;
  /** The points that it speaks of, by their labels. */
  readonly where: Labels;
  /** @default "p95" */
  readonly statistic?: "p95" | "mean" | "throughput";
  /** Relative change of the statistic against the baseline, such as -0.39. */
  readonly change: number;
  readonly contender: ContenderId;
}

/** Values of the axes at a point, such as `{ rttMs: 100, users: 300 }`. */
export type Labels = Readonly<Record<string, number | string>>;

/** One setting of all axes: everything that a trial needs besides the contender and the seed. */
export interface Point {
  /** Unique within the scenario, made of the labels. */
  readonly id: string;
  /** Axes called alpha, beta and gamma are `affinity`'s parameters. */
  readonly labels: Labels;
  readonly cluster: PointCluster;
  readonly workflow: PointWorkflow;
  readonly load: PointLoad;
  /** In order of time. */
  readonly changes: readonly Change[];
}

export interface PointCluster {
  readonly nodes: readonly PointNode[];
  /** What bytes cost between them, in their order; absent: nobody knows. */
  readonly prices?: PairPrices;
  /**
   * Milliseconds of a round trip from row to column, by position in `nodes`; 0 on the diagonal. Finite: a
   * disconnected matrix is refused.
   */
  readonly rttMs: readonly (readonly number[])[];
}

export interface PointNode {
  readonly name: string;
  readonly zone: string;
  readonly region: string;
  readonly cpuMillicores: Millicores;
  readonly memoryBytes: Bytes;
}

export interface PointWorkflow {
  readonly name: string;
  /** Callers before callees. */
  readonly workloads: readonly PointWorkload[];
  /** All workloads by name, in the order in which their pods are created; absent: as in `workloads`. */
  readonly created?: readonly string[];
  /**
   * Whether the only replica of a workload may be evicted, as 000's descheduler does; absent: it stays, as
   * Isochrone's default is. Who has set `descheduler.allowSingleReplicas` for such a workflow takes that
   * nobody serves for a moment.
   */
  readonly movesSingleReplicas?: true;
  /**
   * Zones that Isochrone and the optimum keep a workload's replicas on at least, its setting
   * `planner.minZones`; absent: as installed.
   */
  readonly minZones?: number;
  /** Whether callers go to replicas of their own zone where it has any; absent: to all in turn. */
  readonly prefersSameZone?: true;
  /** The workload that users call. */
  readonly entry: string;
  /**
   * The node at which users' requests come in; null: users are beside the entry, wherever it is (000 measures
   * at m0).
   */
  readonly usersAt: string | null;
}

export interface PointWorkload {
  readonly name: string;
  readonly replicas: number;
  /** What a pod requests; null: nothing, as in charts that name no requests. */
  readonly requests: Readonly<{ cpuMillicores: Millicores | null; memoryBytes: Bytes | null }>;
  /** What a pod takes of memory when it runs. */
  readonly memoryBytes: Bytes;
  /**
   * Busy work of each call, milliseconds of one core; exponentially distributed where `cpuSpread` is
   * "exponential".
   */
  readonly cpuMs: number;
  readonly cpuSpread: "fixed" | "exponential";
  /** Made in parallel after the busy work; the answer waits for all. */
  readonly calls: readonly PointCall[];
  /** The only node it may be on, such as a database with a local disk; null: any. */
  readonly pinnedTo: string | null;
}

export interface PointCall {
  readonly callee: string;
  /** Type of the channel in 001, such as `HTTPRoute`; absent: unknown. Only `affinity` asks for it. */
  readonly channelType?: string;
  readonly requestBytes: number;
  readonly responseBytes: number;
  /** Share of the caller's requests that make this call, above 0 and at most 1. */
  readonly probability: number;
}

export interface PointLoad {
  /**
   * Virtual users, each sending one request per `1 / requestsPerSecondPerUser` seconds at its own phase,
   * whatever becomes of earlier ones (open).
   */
  readonly users: number;
  readonly requestsPerSecondPerUser: number;
  /** Left out of the statistics. */
  readonly warmUpSeconds: number;
  /** The warm-up goes on until response times fall no further, for so long at most. @default 0, it doesn't */
  readonly steadyWithinSeconds?: number;
  /** Measured after the warm-up. */
  readonly durationSeconds: number;
}

/** Something that happens while a trial runs, seconds after the warm-up's end. */
export type Change =
  | { readonly kind: "node-down"; readonly atSeconds: number; readonly node: string }
  | {
      /** Round trips between nodes of the region and all others are multiplied. */
      readonly kind: "region-latency";
      readonly atSeconds: number;
      readonly region: string;
      readonly factor: number;
    }
  | {
      readonly kind: "call-probability";
      readonly atSeconds: number;
      readonly caller: string;
      readonly callee: string;
      readonly probability: number;
    };

export const CONTENDERS = [
  /**
   * kube-scheduler with its defaults, spread included: the real one where it can run, else the imitation; the
   * result says which.
   */
  "default",
  /** `mode: paper` of 000: ResourceAware and NetworkAware scores, raw, and its descheduler. */
  "paper",
  /** The same with both parts on one scale, as its authors meant them to "equally contribute". */
  "paper-scaled",
  /** 001's CommunicationAffinity, raw. */
  "affinity",
  /** The Go plugins of KEP-260: TopologicalSort and NetworkOverhead as coded. */
  "upstream",
  /** Isochrone's joint planner and its descheduler, with default settings. */
  "isochrone",
  /** The least cost by integer programming, where it solves. */
  "optimum",
  /** The same as the baseline, once more: shows what difference there is between equals. */
  "null",
] as const;
export type ContenderId = (typeof CONTENDERS)[number];

export interface ModelSettings {
  /**
   * Overhead of each hop besides the network, milliseconds: what proxies and sockets take. Calibrated against
   * the lab.
   */
  readonly hopMs: number;
}

export interface LabSettings {
  /**
   * The lab runs so many times slower than the point says: users' rates and the CPU are divided by it, round
   * trips multiplied, response times divided again. Results name it.
   */
  readonly scale: number;
  /** Points that the lab runs (all in the model), by labels; empty: all. */
  readonly only: readonly Labels[];
  /**
   * Of the wall, as all that the lab takes: in slow motion connections need longer to be open and wide.
   * Absent: the load's.
   */
  readonly warmUpSeconds?: number;
  /**
   * Of the protocol, in place of the scenario's: at scale S a second has 1/S of the requests, and rare calls
   * may not be among them.
   */
  readonly learnSeconds?: number;
  readonly durationSeconds: number;
  readonly trials: number;
}
