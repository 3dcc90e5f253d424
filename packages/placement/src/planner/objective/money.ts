// Money as what decides between plans: prices of traffic, in the unit of latency, so that they can stand
// beside load, moves and least gains.
import { upperMedian } from "@isochrone/primitives";
import { MONTH_SECONDS, type PairPrices } from "@isochrone/prices";
import type { CostField } from "./cost-field.ts";
import { PairField, type PlaceCosts } from "./pair-field.ts";
import type { PlanProblem } from "./plan-problem.ts";

/**
 * Money's share where money leads. The rest is latency's: it decides between zones and nodes that cost the
 * same, and a plan pays more only where that spares nine typical round trips for a typical price.
 */
export const MONEY_LEADS = 0.9;

/**
 * Why latency alone decides although money was asked for: nobody gave prices; none is known between the
 * nodes; all that are known are the same; no round trip is known, and so no bound on latency can be held; no
 * plan has room for all pods.
 */
export type MoneyFallback = "equal_prices" | "no_latency" | "no_prices" | "no_room" | "unknown_prices";

/** In words, for notes and messages. */
export const FALLBACK_WORDS: Readonly<Record<MoneyFallback, string>> = {
  equal_prices: "all prices between the nodes that are known are the same",
  no_latency: "no network cost is known, so that no bound on latency can be held",
  no_prices: "no price table was read",
  no_room: "no plan has room for all pods",
  unknown_prices: "no price between the nodes is known",
};

/** Costs by money and latency, or why latency decides alone. */
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
  // Unknown is never cheap: no pod goes there to save money.
  const costs = prices.perByte.map((price) => scale * (Number.isNaN(price) ? dearest : price));
  return fieldOf(problem, prices, { latencyShare: 1 - moneyShare, costs, elsewhere: scale * dearest });
}

/** The median of those above 0: between places that differ. */
function typicalPrice(known: Float64Array): number {
  return upperMedian(known.filter((price) => price > 0))!;
}

/** Money for a month of a byte each second; 0 where it is unknown. */
export function monthField(problem: PlanProblem, prices: PairPrices): PairField {
  const costs = prices.perByte.map((price) => (Number.isNaN(price) ? 0 : price * MONTH_SECONDS));
  return fieldOf(problem, prices, { latencyShare: 0, costs, elsewhere: 0 });
}

/** 1 where the price is unknown. */
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
