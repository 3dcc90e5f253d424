// How far a link's cost may be from the truth: by its own samples, the pair's other links, and age.
import type { Distribution } from "@isochrone/telemetry";
import type { Link } from "./schema.ts";

/**
 * What of a link's round-trip times may be its cost. The mean is exact: histograms carry the sum of what they
 * count.
 */
export const COST_QUANTILES = ["p50", "p90", "mean"] as const;
export type CostQuantile = (typeof COST_QUANTILES)[number];

/** Standard errors in half of a 95 % confidence interval. */
const HALF_WIDTHS = 1.96;
/** The interval of a quantile must cover it with this probability. */
const COVERAGE = 0.95;
/** A quantile that is read from a histogram may be off by this share of itself: half a bucket. */
const BUCKET_SHARE = 0.011;

/** What intervals are read from. */
type RoundTrips = Pick<Distribution, "count" | "max" | "mean" | "min" | "quantile">;

/** Where a cost lies with a probability of 95 %, by its own samples alone; milliseconds. */
interface CostInterval {
  readonly lowMs: number;
  readonly highMs: number;
}

/**
 * Confidence interval of the cost quantile that assumes no distribution: order statistics of the ranks
 * nq +- 1.96 sqrt(nq(1 - q)), the whole range for few samples. The mean's takes the largest deviation that
 * range and mean admit (Bhatia and Davis, 2000). Null without samples.
 */
export function costInterval(rtt: RoundTrips, quantile: CostQuantile): CostInterval | null {
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
export function fewestSamples(quantile: CostQuantile): number {
  const q = quantile === "mean" ? 0.5 : SHARE[quantile];
  let count = 1;
  while (1 - q ** count - (1 - q) ** count < COVERAGE) count++;
  return count;
}

/** Links between two steps: a few milliseconds' work. */
const LINKS_PER_STEP = 5_000;

/**
 * The measured costs of a graph. A round trip is one quantity of a pair of nodes: what each of its links says
 * counts for all of them. Columns, because objects would take a tenth of the time that a graph takes.
 */
export class PairErrors {
  readonly #windowSeconds: number;
  readonly #links: Link[] = [];
  readonly #costMs: number[] = [];
  readonly #lowMs: number[] = [];
  readonly #highMs: number[] = [];
  /** The error grows by this factor, because the newest answer is old. */
  readonly #growth: number[] = [];
  /** The cost of the same pair that was added before this one; -1: none. */
  readonly #previous: number[] = [];
  /** By pair, the cost that was added last; -1: none. */
  readonly #last: Int32Array;

  /** @param pairs more than any pair's number */
  constructor(windowSeconds: number, pairs: number) {
    this.#windowSeconds = windowSeconds;
    this.#last = new Int32Array(pairs).fill(-1);
  }

  /**
   * @param pair number of the link's pair of nodes, the same in both directions
   * @param answerAgeSeconds of the newest answer: a window later the error is twice as large
   */
  add(link: Link, pair: number, { lowMs, highMs }: CostInterval, answerAgeSeconds: number): void {
    this.#previous.push(this.#last[pair]!);
    this.#last[pair] = this.#links.length;
    this.#links.push(link);
    this.#costMs.push(link.costMs!);
    this.#lowMs.push(lowMs);
    this.#highMs.push(highMs);
    this.#growth.push(1 + Math.max(0, answerAgeSeconds) / this.#windowSeconds);
  }

  /** Writes the error of every cost into its link. */
  *write(): Generator<void> {
    let untilStep = LINKS_PER_STEP;
    for (const last of this.#last) {
      for (let at = last; at >= 0; at = this.#previous[at]!) {
        this.#links[at]!.errorMs = rounded(this.#growth[at]! * this.#errorOf(at, last));
        untilStep--;
      }
      if (untilStep > 0) continue;
      untilStep = LINKS_PER_STEP;
      yield;
    }
  }

  /**
   * The own interval, or a tighter one: another link of the pair that is known better bounds this one's error
   * by its own error and the difference of both, unless it has too few samples. A link that another one
   * contradicts is wrong by their whole difference, however few samples say so.
   */
  #errorOf(own: number, last: number): number {
    const costMs = this.#costMs[own]!;
    let bound = this.#spreadOf(own);
    let contradiction = 0;
    for (let at = last; at >= 0; at = this.#previous[at]!) {
      if (at === own || !speaksFor(this.#links[at]!, this.#links[own]!)) continue;
      const difference = Math.abs(costMs - this.#costMs[at]!);
      if (!this.#links[at]!.provisional) bound = Math.min(bound, difference + this.#spreadOf(at));
      const gap = Math.max(0, this.#lowMs[at]! - costMs, costMs - this.#highMs[at]!);
      contradiction = Math.max(contradiction, Math.min(difference, 2 * gap));
    }
    return Math.max(bound, contradiction);
  }

  #spreadOf(at: number): number {
    const costMs = this.#costMs[at]!;
    return Math.max(this.#highMs[at]! - costMs, costMs - this.#lowMs[at]!);
  }
}

/** A proxy on the way may answer handshakes. */
function speaksFor(other: Link, own: Link): boolean {
  return other.method !== "tcp_connect" || own.method === "tcp_connect";
}

/** To the microsecond, upwards: 0 would claim that nothing is unknown. */
function rounded(ms: number): number {
  return Math.ceil(ms * 1000) / 1000;
}
