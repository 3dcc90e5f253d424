// How far a link's cost may be from the truth: by its own samples, by what the pair's other links say, by age.
import type { Distribution } from "@isochrone/telemetry";
import type { Link } from "@isochrone/topology";
import type { CostRule } from "./cost-rule.ts";

/** Standard errors in half of a 95 % confidence interval. */
const HALF_WIDTHS = 1.96;
/** The interval of a quantile must cover it with this probability. */
const COVERAGE = 0.95;
/** A quantile that is read from a histogram may be off by this share of itself: half a bucket. */
const BUCKET_SHARE = 0.011;

/** Where a cost lies with a probability of 95 %, by its own samples alone; milliseconds. */
export interface CostInterval {
  readonly lowMs: number;
  readonly highMs: number;
}

/**
 * Confidence interval of the cost quantile that assumes no distribution: order statistics of the ranks
 * nq +- 1.96 sqrt(nq(1 - q)), the whole range for few samples. The mean's takes the largest deviation that
 * range and mean admit (Bhatia and Davis, 2000). Null without samples.
 */
export function costInterval(rtt: Distribution, quantile: CostRule["quantile"]): CostInterval | null {
  const { count, min, max, mean } = rtt;
  if (min === null || max === null || mean === null) return null;
  if (quantile === "mean") {
    const half = HALF_WIDTHS * Math.sqrt(Math.max(0, (max - mean) * (mean - min)) / count);
    return { lowMs: 1000 * Math.max(min, mean - half), highMs: 1000 * Math.min(max, mean + half) };
  }
  const q = SHARE[quantile];
  const half = HALF_WIDTHS * Math.sqrt(count * q * (1 - q));
  const low = rtt.quantile(Math.max(1, Math.floor(count * q - half)) / count)!;
  const high = rtt.quantile(Math.min(count, Math.ceil(count * q + half)) / count)!;
  return { lowMs: 1000 * (1 - BUCKET_SHARE) * low, highMs: 1000 * (1 + BUCKET_SHARE) * high };
}

const SHARE = { p50: 0.5, p90: 0.9 } as const;

/**
 * Fewest samples for which an interval means anything: with fewer, even their whole range covers the quantile
 * with less than 95 %, 1 - q^n - (1 - q)^n. 6 for the median, 29 for the 90th percentile; the mean takes the
 * median's.
 */
export function fewestSamples(quantile: CostRule["quantile"]): number {
  const q = quantile === "mean" ? 0.5 : SHARE[quantile];
  let count = 1;
  while (1 - q ** count - (1 - q) ** count < COVERAGE) count++;
  return count;
}

interface MeasuredCost extends CostInterval {
  readonly link: Link;
  readonly costMs: number;
  /** The error grows by this factor, because the newest answer is old. */
  readonly growth: number;
}

/** Pairs between two steps: a few milliseconds' work. */
const PAIRS_PER_STEP = 2_000;

/** The measured costs of a graph, by pair of nodes. A round trip is one quantity of a pair. */
export class PairErrors {
  readonly #windowSeconds: number;
  /** By the node whose name comes first, then by the other one. */
  readonly #pairs = new Map<string, Map<string, MeasuredCost[]>>();

  constructor(windowSeconds: number) {
    this.#windowSeconds = windowSeconds;
  }

  /** @param answerAgeSeconds of the newest answer: a window later the error is twice as large */
  add(link: Link, { lowMs, highMs }: CostInterval, answerAgeSeconds: number): void {
    const growth = 1 + Math.max(0, answerAgeSeconds) / this.#windowSeconds;
    const [first, second] =
      link.source < link.target ? [link.source, link.target] : [link.target, link.source];
    let row = this.#pairs.get(first);
    if (row === undefined) this.#pairs.set(first, (row = new Map()));
    const cost = { link, costMs: link.costMs!, lowMs, highMs, growth };
    const pair = row.get(second);
    if (pair === undefined) row.set(second, [cost]);
    else pair.push(cost);
  }

  /** Writes the error of every cost into its link. */
  *write(): Generator<void> {
    let pairs = 0;
    for (const row of this.#pairs.values()) {
      for (const pair of row.values()) {
        for (const cost of pair) cost.link.errorMs = rounded(cost.growth * errorOf(cost, pair));
        if (++pairs % PAIRS_PER_STEP === 0) yield;
      }
    }
  }
}

/**
 * The own interval, or a tighter one: another link of the pair that is known better bounds this one's error by
 * its own error and the difference of both. A link that another one contradicts is wrong by their whole
 * difference. Links with too few samples say nothing about others.
 */
function errorOf(own: MeasuredCost, pair: readonly MeasuredCost[]): number {
  let bound = spreadOf(own);
  let contradiction = 0;
  for (const other of pair) {
    if (other === own || other.link.provisional || !areComparable(own.link, other.link)) continue;
    const difference = Math.abs(own.costMs - other.costMs);
    bound = Math.min(bound, difference + spreadOf(other));
    const gap = Math.max(0, other.lowMs - own.costMs, own.costMs - other.highMs);
    contradiction = Math.max(contradiction, Math.min(difference, 2 * gap));
  }
  return Math.max(bound, contradiction);
}

function spreadOf({ costMs, lowMs, highMs }: MeasuredCost): number {
  return Math.max(highMs - costMs, costMs - lowMs);
}

/** A proxy on the way may answer handshakes; families may take different paths. */
function areComparable(own: Link, other: Link): boolean {
  return (
    own.ipFamily === other.ipFamily && (other.method !== "tcp_connect" || own.method === "tcp_connect")
  );
}

/** To the microsecond, upwards: 0 would claim that nothing is unknown. */
function rounded(ms: number): number {
  return Math.ceil(ms * 1000) / 1000;
}
