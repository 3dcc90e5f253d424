import { upperMedian } from "@isochrone/primitives";
import { MONTH_SECONDS, type PairPrices } from "@isochrone/prices";
import type { CostField } from "./cost-field.ts";
import { PairField, type PlaceCosts } from "./pair-field.ts";
import type { PlanProblem } from "./plan-problem.ts";

/**
 * Money's share where money leads. Latency decides between equal prices, and justifies a higher price only if
 * it saves nine typical round trips per typical price.
 */
export const MONEY_LEADS = 0.9;

/**
 * The respective reasons: no prices; none known between the nodes; all equal; no known round trip, hence no
 * latency bound; no plan has room for all pods.
 */
export type MoneyFallback = "equal_prices" | "no_latency" | "no_prices" | "no_room" | "unknown_prices";

export const FALLBACK_WORDS: Readonly<Record<MoneyFallback, string>> = {
  equal_prices: "all prices between the nodes that are known are the same",
  no_latency: "no network cost is known, so that no bound on latency can be held",
  no_prices: "no price table was read",
  no_room: "no plan has room for all pods",
  unknown_prices: "no price between the nodes is known",
};

export function moneyField(
  problem: PlanProblem,
  latency: CostField,
  moneyShare: number,
): PairField | MoneyFallback {
  const { prices } = problem;
  if (prices === undefined) return "no_prices";
  if (!latency.known) return "no_latency";
  const known = prices.perByte.filter((price) => !Number.isNaN(price));
  if (known.length === 0) return "unknown_prices";
  const dearest = known.reduce((most, price) => Math.max(most, price), 0);
  if (known.every((price) => price === dearest)) return "equal_prices";
  const scale = (moneyShare * latency.medianMs) / typicalPrice(known);
  // An unknown price counts as the highest, so that no pod moves there to save money.
  const costs = prices.perByte.map((price) => scale * (Number.isNaN(price) ? dearest : price));
  return fieldOf(problem, prices, { latencyShare: 1 - moneyShare, costs, elsewhere: scale * dearest });
}

function typicalPrice(known: Float64Array): number {
  return upperMedian(known.filter((price) => price > 0))!;
}

/** Monthly cost of one byte per second; 0 where the price is unknown. */
export function monthField(problem: PlanProblem, prices: PairPrices): PairField {
  const costs = prices.perByte.map((price) => (Number.isNaN(price) ? 0 : price * MONTH_SECONDS));
  return fieldOf(problem, prices, { latencyShare: 0, costs, elsewhere: 0 });
}

/** A field that is 1 where the price is unknown. */
export function unknownField(problem: PlanProblem, prices: PairPrices): PairField {
  const costs = prices.perByte.map((price) => (Number.isNaN(price) ? 1 : 0));
  return fieldOf(problem, prices, { latencyShare: 0, costs, elsewhere: 1 });
}

function fieldOf(
  problem: PlanProblem,
  { placeOf, places }: PairPrices,
  costs: Pick<PlaceCosts, "costs" | "elsewhere" | "latencyShare">,
): PairField {
  return new PairField(problem, { placeOf, places, ...costs });
}
