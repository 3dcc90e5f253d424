import type { ContenderId, Labels } from "../scenario/model.ts";
import type { GroundName } from "./cells.ts";

/** What was measured in a cell; a line of the results' file. */
export interface CellResult {
  readonly hash: string;
  readonly ground: GroundName;
  readonly point: string;
  readonly labels: Labels;
  readonly contender: ContenderId;
  /** Who decided for it. */
  readonly by: string;
  readonly trial: number;
  /** Why nothing was measured: the contender found no place for a pod. */
  readonly failure: string | null;
  readonly measured: Measured | null;
  readonly tookSeconds: number;
}

export interface Measured {
  /**
   * What it took after the warm-up until response times fell no further; null where that wasn't waited for.
   */
  readonly steadyAfterSeconds: number | null;
  readonly requests: number;
  /** Of them; in the quantiles they count as given up after the time that a user waits. */
  readonly failed: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly mean: number;
  /** Requests answered per second of measurement. */
  readonly throughput: number;
  readonly rounds: number;
  readonly moves: number;
  /** Node by pod, as it was at the end. */
  readonly placement: Readonly<Record<string, string>>;
  readonly facts: PlacementFacts;
  /**
   * Share of the mean response time that is neither network nor busy work: waiting for CPU, retries, pods
   * that were away.
   */
  readonly queueingShare: number;
  /** In scenarios with changes. */
  readonly series: readonly SeriesPoint[];
  /**
   * Of the baseline there: the p95 of the optimum that knows from the beginning what the changes leave. Null
   * elsewhere.
   */
  readonly settledP95: number | null;
}

/** What can be said of a placement without running it. */
export interface PlacementFacts {
  /** Milliseconds of round trips that the calls of a second take together: sum of rate times round trip. */
  readonly cost: number;
  /**
   * The same of bytes, sum of bytes per second times round trip: what the planner and the integer program
   * make small.
   */
  readonly trafficCost: number;
  /** Share of the calls that stay on their node. */
  readonly colocated: number;
  /** Of the busiest node: busy work per second and core. */
  readonly busiest: number;
  readonly nodes: number;
}

export interface SeriesPoint {
  /** End of the stretch, seconds after the warm-up. */
  readonly atSeconds: number;
  readonly p95: number;
  readonly mean: number;
  readonly requests: number;
  readonly failed: number;
  /** Of the placement during it. */
  readonly cost: number;
  readonly moves: number;
}
