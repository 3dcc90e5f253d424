// Model of an experiment after reading and checking. A scenario expands into points. A cell is one point,
// contender, testbed and trial.
import type { PairPrices } from "@isochrone/prices";
import type { Bytes, Millicores } from "@isochrone/primitives";
import type { ScenarioHead } from "./head.ts";

export interface Scenario extends ScenarioHead {
  /** Figures of the source for the report's reference line; never a pass criterion. */
  readonly references: readonly Reference[];
  readonly points: readonly Point[];
  readonly contenders: readonly ContenderId[];
  readonly baseline: ContenderId;
  readonly trials: number;
  readonly seed: number;
  readonly protocol: Protocol;
  readonly grounds: Readonly<{ model: ModelSettings | null; lab: LabSettings | null }>;
}

export interface Protocol {
  /** Length of observations before the first round and between rounds. */
  readonly learnSeconds: number;
  /** Maximum rounds of re-placement before the measurement; a round without moves ends them. */
  readonly rounds: number;
  /** Scenarios with changes: seconds between rounds during the measurement. */
  readonly roundSeconds: number;
}

export interface Reference {
  readonly text: string;
  readonly where: Labels;
  /** @default "p95" */
  readonly statistic?: "p95" | "mean" | "throughput";
  /** Relative change against the baseline, such as -0.39. */
  readonly change: number;
  readonly contender: ContenderId;
}

/** Values of the axes at a point, such as `{ rttMs: 100, users: 300 }`. */
export type Labels = Readonly<Record<string, number | string>>;

export interface Point {
  /** Unique in the scenario, made of the labels. */
  readonly id: string;
  /** Axes alpha, beta and gamma set parameters of `affinity`. */
  readonly labels: Labels;
  readonly cluster: PointCluster;
  readonly workflow: PointWorkflow;
  readonly load: PointLoad;
  /** In order of time. */
  readonly changes: readonly Change[];
}

export interface PointCluster {
  readonly nodes: readonly PointNode[];
  /** Prices between nodes, in their order; absent: unknown. */
  readonly prices?: PairPrices;
  /** Round trip from row to column, ms, by position in `nodes`; 0 on the diagonal. Always finite. */
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
  /** All workload names in creation order of their pods; absent: as in `workloads`. */
  readonly created?: readonly string[];
  /** Allows eviction of a workload's only replica, as 000 does; absent: forbidden, Isochrone's default. */
  readonly movesSingleReplicas?: true;
  /** Minimum zones per workload, as in setting `planner.minZones`; absent: the default. */
  readonly minZones?: number;
  /** Callers prefer replicas in their own zone; absent: round-robin over all. */
  readonly prefersSameZone?: true;
  readonly entry: string;
  /** Node at which user requests arrive; null: beside the entry, wherever it runs (000 measures at m0). */
  readonly usersAt: string | null;
}

export interface PointWorkload {
  readonly name: string;
  readonly replicas: number;
  /** Requests per pod; null: none, as in charts without requests. */
  readonly requests: Readonly<{ cpuMillicores: Millicores | null; memoryBytes: Bytes | null }>;
  /** Memory usage of a running pod. */
  readonly memoryBytes: Bytes;
  /** Busy work per call, ms of one core; the mean if `cpuSpread` is "exponential". */
  readonly cpuMs: number;
  readonly cpuSpread: "fixed" | "exponential";
  /** Made in parallel after the busy work; the answer waits for all. */
  readonly calls: readonly PointCall[];
  /** Only allowed node, such as for a database with a local disk; null: any. */
  readonly pinnedTo: string | null;
}

export interface PointCall {
  readonly callee: string;
  /** Channel type in 001, such as `HTTPRoute`; absent: unknown. Only `affinity` uses it. */
  readonly channelType?: string;
  readonly requestBytes: number;
  readonly responseBytes: number;
  /** Share of requests that make this call, (0, 1]. */
  readonly probability: number;
}

export interface PointLoad {
  /** Open loop: one request per `1 / requestsPerSecondPerUser` seconds and user, each at its own phase. */
  readonly users: number;
  readonly requestsPerSecondPerUser: number;
  /** Excluded from statistics. */
  readonly warmUpSeconds: number;
  /** Maximum extension of the warm-up until response times stop falling. @default 0, no extension */
  readonly steadyWithinSeconds?: number;
  readonly durationSeconds: number;
}

/** A change during a trial, in seconds after the warm-up. */
export type Change =
  | { readonly kind: "node-down"; readonly atSeconds: number; readonly node: string }
  | {
      /** Multiplies round trips between the region and all others. */
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
  /** kube-scheduler with its defaults: the real one if available, else the imitation; results name it. */
  "default",
  /** `mode: paper` of 000: raw ResourceAware and NetworkAware scores, and its descheduler. */
  "paper",
  /** Both parts on one scale, since its authors meant them to "equally contribute". */
  "paper-scaled",
  /** Raw CommunicationAffinity of 001. */
  "affinity",
  /** KEP-260's Go plugins as coded: TopologicalSort and NetworkOverhead. */
  "upstream",
  /** Isochrone's joint planner and descheduler with default settings. */
  "isochrone",
  /** Minimum cost by integer programming, where solvable. */
  "optimum",
  /** Repeats the baseline and shows the difference between equals. */
  "null",
] as const;
export type ContenderId = (typeof CONTENDERS)[number];

export interface ModelSettings {
  /** Overhead per hop besides the network, ms: proxies and sockets. Calibrated against the lab. */
  readonly hopMs: number;
}

export interface LabSettings {
  /** Slowdown: divides request rates and CPU, multiplies round trips. Response times are divided back. */
  readonly scale: number;
  /** Points for the lab, by labels; empty: all. The model runs all points. */
  readonly only: readonly Labels[];
  /** Wall-clock seconds: in slow motion, connections open and grow more slowly. Absent: the load's. */
  readonly warmUpSeconds?: number;
  /** Replaces the protocol's value: at scale S, a second has 1/S of the requests and may miss rare calls. */
  readonly learnSeconds?: number;
  readonly durationSeconds: number;
  readonly trials: number;
}
