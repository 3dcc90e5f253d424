import moneyOptima from "./money-optima.json" with { type: "json" };
import optima from "./optima.json" with { type: "json" };
import siteBest from "./site-best.json" with { type: "json" };

/** JSON knows no tuples. */
const FILES = { latency: optima, money: moneyOptima, sites: siteBest } as {
  readonly latency: [number, number, number][];
  readonly money: [number, number, number, number][];
  readonly sites: [number, number][];
};

/** A proven optimum of `smallProblem(seed)`; how many nodes of the search tree the proof took. */
type ProvenOptimum = readonly [seed: number, total: number, visited: number];

/** Written by test/bench/placement/planner-optima.ts. */
export const OPTIMA: readonly ProvenOptimum[] = FILES.latency;

/** The same of `pricedProblem(smallProblem(seed), seed)` where money leads, within a bound on latency. */
type ProvenMoney = readonly [seed: number, total: number, visited: number, latencyLimit: number];

export const MONEY_OPTIMA: readonly ProvenMoney[] = FILES.money;

/** The cheapest known plan of `siteProblem(seed, matrix)` on the lab's built-in matrix; not proven. */
type BestKnown = readonly [seed: number, total: number];

export const SITE_BEST: readonly BestKnown[] = FILES.sites;
