import moneyOptima from "./money-optima.json" with { type: "json" };
import optima from "./optima.json" with { type: "json" };
import siteBest from "./site-best.json" with { type: "json" };

const FILES = { latency: optima, money: moneyOptima, sites: siteBest } as {
  readonly latency: [number, number, number][];
  readonly money: [number, number, number, number][];
  readonly sites: [number, number][];
};

/** A proven optimum of `smallProblem(seed)`, and the size of the proof's search tree. */
type ProvenOptimum = readonly [seed: number, total: number, visited: number];

export const OPTIMA: readonly ProvenOptimum[] = FILES.latency;

/** Optimum of `pricedProblem(smallProblem(seed), seed)` where money leads, within a latency bound. */
type ProvenMoney = readonly [seed: number, total: number, visited: number, latencyLimit: number];

export const MONEY_OPTIMA: readonly ProvenMoney[] = FILES.money;

/** The cheapest known, unproven plan of `siteProblem(seed, matrix)` on the lab's built-in matrix. */
type BestKnown = readonly [seed: number, total: number];

export const SITE_BEST: readonly BestKnown[] = FILES.sites;
