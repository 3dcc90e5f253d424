// A Gaussian process over pairs corrects by residuals of similar pairs (Rasmussen and Williams, Gaussian
// Processes for Machine Learning, 2.2). Covariance: cov((i,j),(k,l)) = w(i,k) w(j,l) + w(i,l) w(j,k), w:
// similarity of nodes. Conjugate gradients find one coefficient per measured pair.
import { upperMedian } from "@isochrone/primitives";
import { OWN_WEIGHT } from "./similarity.ts";
import type { SimilarityState } from "./types.ts";

export interface CorrectionOptions {
  /** Variance of a pair's own part relative to the shared one. */
  readonly ownVariance: number;
  /** Reweighting rounds for outliers (Student's t with 4 degrees of freedom); 0: clips residuals instead. */
  readonly robustRounds: number;
}

const MAX_ITERATIONS = 30;
/** The previous round's solution is close to this one's. */
const MAX_WARM_ITERATIONS = 10;
const TOLERANCE = 1e-2;
/** Clips residuals above this multiple of the median. */
const CUT = 8;
const DEGREES_OF_FREEDOM = 4;

interface PairEnds {
  readonly first: Int32Array;
  readonly second: Int32Array;
}

export class Correction {
  readonly #similarity: SimilarityState;
  readonly #shared: Float64Array;
  /** Node x feature: a node's own part against the other end's shared part. Single precision suffices. */
  readonly #own: Float32Array;

  constructor(similarity: SimilarityState) {
    this.#similarity = similarity;
    const nodes = similarity.feature.length / similarity.perNode;
    this.#shared = new Float64Array(similarity.features ** 2);
    this.#own = new Float32Array(nodes * similarity.features);
  }

  gather({ first, second }: PairEnds, coefficients: Float64Array): void {
    const { features, perNode, feature, weight } = this.#similarity;
    const shared = this.#shared.fill(0);
    const own = this.#own.fill(0);
    for (let pair = 0; pair < coefficients.length; pair++) {
      const coefficient = coefficients[pair]!;
      const ownPart = OWN_WEIGHT * coefficient;
      const a = first[pair]! * perNode;
      const b = second[pair]! * perNode;
      const ownA = first[pair]! * features;
      const ownB = second[pair]! * features;
      for (let y = 0; y < perNode; y++) own[ownA + feature[b + y]!]! += ownPart * weight[b + y]!;
      for (let x = 0; x < perNode; x++) {
        const of = feature[a + x]!;
        const share = coefficient * weight[a + x]!;
        const row = of * features;
        own[ownB + of]! += OWN_WEIGHT * share;
        for (let y = 0; y < perNode; y++) shared[row + feature[b + y]!]! += share * weight[b + y]!;
      }
    }
    for (let x = 0; x < features; x++) {
      for (let y = 0; y <= x; y++) {
        const both = shared[x * features + y]! + shared[y * features + x]!;
        shared[x * features + y] = both;
        shared[y * features + x] = both;
      }
    }
  }

  at(first: number, second: number): number {
    const { features, perNode, feature, weight } = this.#similarity;
    const shared = this.#shared;
    const own = this.#own;
    const a = first * perNode;
    const b = second * perNode;
    const ownA = first * features;
    const ownB = second * features;
    let sum = 0;
    for (let x = 0; x < perNode; x++) {
      const of = feature[a + x]!;
      const row = of * features;
      let along = own[ownB + of]!;
      for (let y = 0; y < perNode; y++) along += shared[row + feature[b + y]!]! * weight[b + y]!;
      sum += along * weight[a + x]! + own[ownA + feature[b + x]!]! * weight[b + x]!;
    }
    return sum;
  }

  atAll({ first, second }: PairEnds): Float64Array<ArrayBuffer> {
    const all = new Float64Array(first.length);
    for (let pair = 0; pair < all.length; pair++) all[pair] = this.at(first[pair]!, second[pair]!);
    return all;
  }
}

interface Residuals {
  /** Measured minus estimated logarithm, by pair. */
  readonly residual: Float64Array;
  /** Sampling variance of each, in squares of the median absolute residual. */
  readonly variance: Float64Array;
  /** Coefficients of the previous round. Null: cold start. */
  readonly start: Float64Array | null;
}

export function solveCorrection(
  pairs: PairEnds,
  similarity: SimilarityState,
  { residual, variance, start }: Residuals,
  { ownVariance, robustRounds }: CorrectionOptions,
): Float64Array {
  const typical = upperMedian(residual.map(Math.abs)) ?? 0;
  if (!(typical > 0)) return new Float64Array(residual.length);
  const noise = variance.map((value) => ownVariance * (1 + value));
  const correction = new Correction(similarity);
  const maxIterations = start === null ? MAX_ITERATIONS : MAX_WARM_ITERATIONS;
  if (robustRounds === 0) {
    const cut = residual.map((value) => Math.max(-CUT * typical, Math.min(CUT * typical, value)));
    return conjugateGradients(pairs, correction, { wanted: cut, noise, start, maxIterations });
  }
  let coefficients = start;
  // A warm start replaces the first round: its residuals identify outliers.
  for (let round = start === null ? 0 : robustRounds; ; round++) {
    const remaining =
      coefficients === null ? residual : unexplained(pairs, correction, residual, coefficients);
    const scale = Math.max(1e-9, upperMedian(remaining.map(Math.abs)) ?? 0);
    const doubted = noise.map(
      (value, pair) => value * (1 + (remaining[pair]! / scale) ** 2 / DEGREES_OF_FREEDOM),
    );
    coefficients = conjugateGradients(pairs, correction, {
      wanted: residual,
      noise: doubted,
      start: coefficients,
      maxIterations,
    });
    if (round === robustRounds) return coefficients;
  }
}

function unexplained(
  pairs: PairEnds,
  correction: Correction,
  residual: Float64Array,
  coefficients: Float64Array,
): Float64Array {
  correction.gather(pairs, coefficients);
  const explained = correction.atAll(pairs);
  return residual.map((value, pair) => value - explained[pair]!);
}

interface System {
  readonly wanted: Float64Array;
  readonly noise: Float64Array;
  readonly start: Float64Array | null;
  readonly maxIterations: number;
}

/** Solves (covariance + noise) x = wanted with diagonal preconditioning. */
function conjugateGradients(
  pairs: PairEnds,
  correction: Correction,
  { wanted, noise, start, maxIterations }: System,
): Float64Array {
  const size = wanted.length;
  const image = (vector: Float64Array): Float64Array => {
    correction.gather(pairs, vector);
    const product = correction.atAll(pairs);
    for (let k = 0; k < size; k++) product[k]! += noise[k]! * vector[k]!;
    return product;
  };
  let solution = new Float64Array(size);
  let remaining = wanted.slice();
  if (start !== null) {
    const reached = image(start);
    const left = remaining.map((value, k) => value - reached[k]!);
    // After large changes, 0 is the better start.
    if (dot(left, left) < dot(wanted, wanted)) {
      remaining = left;
      solution = start.slice();
    }
  }
  const scaled = remaining.map((value, k) => value / (1 + noise[k]!));
  const direction = scaled.slice();
  const enough = TOLERANCE * TOLERANCE * dot(wanted, wanted);
  let power = dot(remaining, scaled);
  for (let iteration = 0; iteration < maxIterations && power > 0; iteration++) {
    const product = image(direction);
    const curvature = dot(direction, product);
    if (!(curvature > 0)) break;
    const length = power / curvature;
    for (let k = 0; k < size; k++) {
      solution[k]! += length * direction[k]!;
      remaining[k]! -= length * product[k]!;
      scaled[k] = remaining[k]! / (1 + noise[k]!);
    }
    if (dot(remaining, remaining) <= enough) break;
    const next = dot(remaining, scaled);
    for (let k = 0; k < size; k++) direction[k] = scaled[k]! + (next / power) * direction[k]!;
    power = next;
  }
  return solution;
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k]! * b[k]!;
  return sum;
}
