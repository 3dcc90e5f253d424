// cMMAC for a varying number of endpoints: the actor of (5) scores each endpoint by its features, instead of
// one output per node.
import { DenseNet, readWeights, writeWeights, type NamedArray } from "@isochrone/learning";
import type { Draw } from "@isochrone/primitives";
import { LATE_WITHOUT_DEADLINE, type Ask, type Candidate, type EndpointChoice } from "../endpoints/choose.ts";

/** Features per endpoint, each in [-1, 1]. */
export const FEATURES = 9;
const HIDDEN = [24, 12];
const KIND = "endpoints";
/** Endpoints scored per decision, sampled if more: keeps a decision below 1 ms. */
const MOST_JUDGED = 200;
const MOST_ENDPOINTS = 1_000;

export class EndpointPolicy {
  readonly net: DenseNet;
  #rows = new Float32Array(0);

  constructor(seed = 0) {
    this.net = new DenseNet({ sizes: [FEATURES, ...HIDDEN, 1], seed, lastScale: 0.1 });
  }

  /** Loads weights. Throws WeightsError for another version, kind or shape, damage, or non-finite numbers. */
  static read(text: string, subject: string): EndpointPolicy {
    const policy = new EndpointPolicy();
    readWeights(text, { subject, kind: KIND, arrays: policy.arrays() });
    return policy;
  }

  /** Serialises the weights. @param settings their origin */
  text(settings: Readonly<Record<string, string | number | boolean>> = {}): string {
    return writeWeights({ kind: KIND, settings, arrays: this.arrays() });
  }

  arrays(): NamedArray[] {
    return this.net.parameters().map(({ shape, values }, at) => ({ name: `actor.${at}`, shape, values }));
  }

  /** Null without endpoints, with too many, or for a non-finite score. */
  choose<C extends Candidate>(all: readonly C[], ask: Ask, draw: Draw): EndpointChoice<C> | null {
    if (all.length === 0 || all.length > MOST_ENDPOINTS) return null;
    const candidates = all.length <= MOST_JUDGED ? all : drawn(all, MOST_JUDGED, draw);
    if (this.#rows.length < candidates.length * FEATURES)
      this.#rows = new Float32Array(2 * candidates.length * FEATURES);
    const rows = this.#rows.subarray(0, candidates.length * FEATURES);
    fillFeatures(rows, candidates, ask);
    const probabilities = probabilitiesOf(this.net.outputs(rows, candidates.length));
    if (probabilities === null) return null;
    const endpoint = candidates[sampled(probabilities, draw)]!;
    return { endpoint, inTime: null, waitMs: endpoint.load.waitMs(ask.workMs, ask.nowMs) };
  }
}

export function featuresOf(candidates: readonly Candidate[], ask: Ask): Float32Array {
  const rows = new Float32Array(candidates.length * FEATURES);
  fillFeatures(rows, candidates, ask);
  return rows;
}

function fillFeatures(
  rows: Float32Array,
  candidates: readonly Candidate[],
  { leftMs, workMs, nowMs }: Ask,
): void {
  const mostMs = leftMs ?? LATE_WITHOUT_DEADLINE * workMs;
  let at = 0;
  for (const { load, roundTripMs, isFar } of candidates) {
    const waitMs = load.waitMs(workMs, nowMs);
    const slack = (mostMs - roundTripMs - waitMs - workMs) / (workMs + waitMs);
    rows[at] = squashed(mostMs / workMs, 4);
    rows[at + 1] = leftMs === null ? 0 : 1;
    rows[at + 2] = squashed(roundTripMs / workMs, 1);
    rows[at + 3] = squashed(waitMs / workMs, 2);
    rows[at + 4] = Math.tanh(slack);
    rows[at + 5] = load.failureShare(nowMs);
    rows[at + 6] = squashed(load.fullness(), 1);
    rows[at + 7] = squashed(load.inFlight, 4);
    rows[at + 8] = isFar ? 1 : 0;
    at += FEATURES;
  }
}

function squashed(value: number, scale: number): number {
  const positive = Math.max(0, value);
  return Number.isFinite(positive) ? positive / (positive + scale) : 1;
}

/** Softmax, because (ReLU(out) + 1) of (5) can't prefer one among hundreds. Null if not finite. */
export function probabilitiesOf(scores: Float32Array): Float64Array | null {
  let most = Number.NEGATIVE_INFINITY;
  for (const score of scores) {
    if (!Number.isFinite(score)) return null;
    most = Math.max(most, score);
  }
  let sum = 0;
  const weights = Float64Array.from(scores, (score) => {
    const weight = Math.exp(score - most);
    sum += weight;
    return weight;
  });
  return weights.map((weight) => weight / sum);
}

export function sampled(probabilities: Float64Array, draw: Draw): number {
  let left = draw();
  for (const [at, probability] of probabilities.entries()) {
    left -= probability;
    if (left < 0) return at;
  }
  return probabilities.length - 1;
}

function drawn<T>(all: readonly T[], count: number, draw: Draw): T[] {
  const left = [...all];
  for (let at = 0; at < count; at++) {
    const other = at + Math.floor(draw() * (left.length - at));
    [left[at], left[other]] = [left[other]!, left[at]!];
  }
  return left.slice(0, count);
}
