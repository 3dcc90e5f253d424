import type { ContenderId, Labels } from "../scenario/model.ts";
import type { GroundName } from "./cells.ts";

export interface CellResult {
  readonly hash: string;
  readonly ground: GroundName;
  readonly point: string;
  readonly labels: Labels;
  readonly contender: ContenderId;
  readonly by: string;
  readonly trial: number;
  /** Reason of a failed measurement: the contender found no node for a pod. */
  readonly failure: string | null;
  readonly measured: Measured | null;
  readonly tookSeconds: number;
}

export interface Measured {
  /** Seconds after the warm-up until response times stopped falling; null: no wait was configured. */
  readonly steadyAfterSeconds: number | null;
  readonly requests: number;
  /** Number of failed requests. Quantiles count them with the users' timeout. */
  readonly failed: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly mean: number;
  readonly throughput: number;
  readonly rounds: number;
  readonly moves: number;
  readonly placement: Readonly<Record<string, string>>;
  readonly facts: PlacementFacts;
  /**
   * Share of the mean response time that is neither network nor busy work: CPU queues, retries, lost pods.
   */
  readonly queueingShare: number;
  /** Only in scenarios with changes. */
  readonly series: readonly SeriesPoint[];
  /** Only for the baseline: p95 of the optimum that knows the final state from the start. Null otherwise. */
  readonly settledP95: number | null;
}

export interface PlacementFacts {
  /** Sum over calls of rate times round trip, ms per second. */
  readonly cost: number;
  /** Sum over channels of bytes per second times round trip; the objective of planner and integer program. */
  readonly trafficCost: number;
  /** Share of calls within a node. */
  readonly colocated: number;
  /** Busy work of the busiest node, per second and core. */
  readonly busiest: number;
  readonly nodes: number;
}

export interface SeriesPoint {
  /** End of the interval, seconds after the warm-up. */
  readonly atSeconds: number;
  readonly p95: number;
  readonly mean: number;
  readonly requests: number;
  readonly failed: number;
  readonly cost: number;
  readonly moves: number;
}
