import { networkCost } from "./objective.ts";
import { CostField } from "./cost-field.ts";
import { monthField, unknownField } from "./money.ts";
import type { PlanProblem } from "./plan-problem.ts";
import { trafficOf } from "./traffic.ts";

export interface TrafficCosts {
  /** Latency cost, bytes/s x ms. */
  readonly latency: number;
  /** Monthly cost of counted and priced traffic. Null: there is none. */
  readonly perMonth: number | null;
  /** Counted bytes without a price. */
  readonly unpricedBytesPerSecond: number;
}

/**
 * Costs of the workflow's traffic. Equals the bill if all pods have nodes and no zone counts are known.
 * @param bytesPerRequest for latency only; money is never estimated from requests
 */
export function trafficCosts(
  problem: PlanProblem,
  assignment: Int32Array,
  bytesPerRequest: number,
): TrafficCosts {
  const sum = (field: CostField, ofRequest: number): number => {
    const traffic = trafficOf(problem, field, { bytesPerRequest: ofRequest, maxCpuUse: 0 });
    return networkCost({ traffic, field }, assignment);
  };
  const latencyField = new CostField(problem);
  const latency = sum(latencyField, bytesPerRequest);
  const { prices } = problem;
  const isCounted =
    trafficOf(problem, latencyField, { bytesPerRequest: 0, maxCpuUse: 0 }).source === "measured";
  if (prices === undefined || !isCounted) return { latency, perMonth: null, unpricedBytesPerSecond: 0 };
  const unpricedBytesPerSecond = sum(unknownField(problem, prices), 0);
  const perMonth = sum(monthField(problem, prices), 0);
  const isKnown = perMonth > 0 || !prices.perByte.every((price) => Number.isNaN(price));
  return { latency, perMonth: isKnown ? perMonth : null, unpricedBytesPerSecond };
}
