import type { CellResult, Measured, SeriesPoint } from "../../run/result.ts";
import type { ContenderId } from "../../scenario/model.ts";

export interface Given {
  readonly p95: number;
  readonly facts?: Partial<Measured["facts"]>;
  readonly queueingShare?: number;
  readonly series?: readonly SeriesPoint[];
  readonly settledP95?: number;
  readonly steadyAfterSeconds?: number;
  readonly ground?: CellResult["ground"];
}

export function result(rttMs: number, contender: ContenderId, trial: number, given: Given): CellResult {
  const { p95, facts, queueingShare = 0, series = [], settledP95 = null, ground = "model" } = given;
  const { steadyAfterSeconds = null } = given;
  return {
    hash: `${rttMs}-${contender}-${trial}-${ground}`,
    ground,
    point: `rttMs=${rttMs}`,
    labels: { rttMs },
    contender,
    by: contender === "default" ? "imitation of kube-scheduler" : "ours",
    trial,
    failure: null,
    tookSeconds: 1,
    measured: {
      steadyAfterSeconds,
      requests: 100,
      failed: 0,
      p50: p95 / 2,
      p95,
      p99: p95 * 1.2,
      mean: p95 / 2,
      throughput: 5,
      rounds: 0,
      moves: 0,
      placement: {},
      facts: { cost: 100, trafficCost: 1000, colocated: 0.5, busiest: 0.4, nodes: 2, ...facts },
      queueingShare,
      series,
      settledP95,
    },
  };
}
