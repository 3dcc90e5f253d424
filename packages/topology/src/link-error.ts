import type { Distribution } from "@isochrone/telemetry";
import type { Link } from "./schema.ts";

/** Statistics of round-trip times usable as cost. The mean is exact: histograms carry the sum. */
export const COST_QUANTILES = ["p50", "p90", "mean"] as const;
export type CostQuantile = (typeof COST_QUANTILES)[number];

/** Half-width of a 95 % confidence interval, in standard errors. */
const HALF_WIDTHS = 1.96;
const COVERAGE = 0.95;
/** Relative error of a histogram's quantile: half a bucket. */
const BUCKET_SHARE = 0.011;

type RoundTrips = Pick<Distribution, "count" | "max" | "mean" | "min" | "quantile">;

interface CostInterval {
  readonly lowMs: number;
  readonly highMs: number;
}

/**
 * Distribution-free interval: order statistics of ranks nq +- 1.96 sqrt(nq(1 - q)), or the whole range for
 * few samples. For the mean, the largest deviation that range and mean admit (Bhatia and Davis, 2000). Null:
 * no samples.
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
 * Minimum samples: below, even the whole range covers the quantile with less than 95 %, 1 - q^n - (1 - q)^n.
 * 6 for the median and the mean, 29 for the 90th percentile.
 */
export function fewestSamples(quantile: CostQuantile): number {
  const q = quantile === "mean" ? 0.5 : SHARE[quantile];
  let count = 1;
  while (1 - q ** count - (1 - q) ** count < COVERAGE) count++;
  return count;
}

const LINKS_PER_STEP = 5_000;

/**
 * All links of a node pair measure one round trip, so each informs the others. Columns, because objects would
 * take a tenth of the graph's time.
 */
export class PairErrors {
  readonly #windowSeconds: number;
  readonly #links: Link[] = [];
  readonly #costMs: number[] = [];
  readonly #lowMs: number[] = [];
  readonly #highMs: number[] = [];
  /** Factor by which the error grows with the age of the newest answer. */
  readonly #growth: number[] = [];
  readonly #previous: number[] = [];
  readonly #last: Int32Array;

  constructor(windowSeconds: number, pairs: number) {
    this.#windowSeconds = windowSeconds;
    this.#last = new Int32Array(pairs).fill(-1);
  }

  /**
   * @param pair number of the node pair, equal in both directions
   * @param answerAgeSeconds age of the newest answer; a window doubles the error
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
   * A better known link of the pair tightens the interval: its error plus the difference of both. A
   * contradicting link, whose interval excludes this cost, widens it to at most that difference.
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

/** Whether a link informs another: a proxy may have answered a handshake. */
function speaksFor(other: Link, own: Link): boolean {
  return other.method !== "tcp_connect" || own.method === "tcp_connect";
}

/** Rounds up to microseconds: 0 would claim certainty. */
function rounded(ms: number): number {
  return Math.ceil(ms * 1000) / 1000;
}
