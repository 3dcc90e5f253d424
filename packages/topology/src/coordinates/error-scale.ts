// How large the error of an estimate is expected to be, from what is known without the truth. The weights are
// learnt from left-out pairs as the scale of a Laplace distribution: log(scale) = weights . features.

/** Features of a pair. */
export const FEATURES = 5;

/** What the features are made of. */
interface PairOutlook {
  /** Logarithmic estimate, in units of the median RTT. */
  readonly log: number;
  /** Standard deviation between the members of the ensemble. */
  readonly spread: number;
  readonly degreeA: number;
  readonly degreeB: number;
  readonly nodeErrorA: number;
  readonly nodeErrorB: number;
}

/**
 * Writes the features of a pair at `offset`, as differences from what is `typical` of the fit: one that saw
 * more pairs, or was improved for more rounds, has other levels of them with the same errors.
 */
export function writeFeatures(
  into: Float64Array,
  offset: number,
  pair: PairOutlook,
  typical: ArrayLike<number>,
): void {
  into[offset] = 1;
  into[offset + 1] = pair.log;
  into[offset + 2] = Math.log(pair.spread + LEAST_SCALE) - typical[2]!;
  into[offset + 3] = Math.log(1 / (pair.degreeA + 1) + 1 / (pair.degreeB + 1)) - typical[3]!;
  into[offset + 4] = Math.log((pair.nodeErrorA + pair.nodeErrorB) / 2 + LEAST_SCALE) - typical[4]!;
}

/** For features that aren't compared with anything. */
export const NOTHING_TYPICAL: readonly number[] = [0, 0, 0, 0, 0];

/** Errors below half a percent aren't told apart. */
const LEAST_SCALE = 0.005;
/** Without left-out pairs errors are taken to be a fifth, more at nodes that fit badly. */
export const PRIOR_WEIGHTS: readonly number[] = [Math.log(0.2), 0, 0, 0, 1];
/** The prior counts as this many pairs; more for single features, which few pairs can't tell apart. */
const PRIOR_PAIRS = 4;
const ITERATIONS = 12;
/** One wild pair must not blow all error bars up. */
const MAX_RATIO = 8;
const MAX_STEP = 2;
/** Features outside of what was learnt must not give absurd bars: 0.05 % to 5 times the estimate. */
const LOG_SCALE_BOUNDS = [Math.log(5e-4), Math.log(5)] as const;

/** Expected absolute error of the logarithm. */
export function scaleOf(weights: Float64Array, features: Float64Array, offset: number): number {
  let log = 0;
  for (let k = 0; k < FEATURES; k++) log += weights[k]! * features[offset + k]!;
  return Math.exp(Math.max(LOG_SCALE_BOUNDS[0], Math.min(LOG_SCALE_BOUNDS[1], log)));
}

/** Fisher scoring. `size` is the absolute error of each row. */
export function learnScale(features: Float64Array, size: Float64Array): Float64Array {
  const weights = Float64Array.from(PRIOR_WEIGHTS);
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    const gradient = weights.map((value, k) => PRIOR_PAIRS * (value - PRIOR_WEIGHTS[k]!));
    const information = Array.from({ length: FEATURES }, (_, k) =>
      Float64Array.from({ length: FEATURES }, (_, l) => (k === l ? PRIOR_PAIRS : 0)),
    );
    for (let row = 0; row < size.length; row++) {
      const at = row * FEATURES;
      const excess = 1 - Math.min(MAX_RATIO, size[row]! / scaleOf(weights, features, at));
      for (let k = 0; k < FEATURES; k++) {
        gradient[k]! += features[at + k]! * excess;
        for (let l = 0; l < FEATURES; l++) information[k]![l]! += features[at + k]! * features[at + l]!;
      }
    }
    const step = solve(information, gradient);
    for (let k = 0; k < FEATURES; k++) weights[k]! -= Math.max(-MAX_STEP, Math.min(MAX_STEP, step[k]!));
  }
  return weights;
}

/**
 * Gaussian elimination; the matrix is positive definite, so that no pivot is looked for. Changes its
 * arguments.
 */
function solve(matrix: readonly Float64Array[], right: Float64Array): Float64Array {
  const size = right.length;
  for (let k = 0; k < size; k++) {
    for (let row = k + 1; row < size; row++) {
      const share = matrix[row]![k]! / matrix[k]![k]!;
      for (let column = k; column < size; column++) matrix[row]![column]! -= share * matrix[k]![column]!;
      right[row]! -= share * right[k]!;
    }
  }
  for (let k = size - 1; k >= 0; k--) {
    for (let column = k + 1; column < size; column++) right[k]! -= matrix[k]![column]! * right[column]!;
    right[k]! /= matrix[k]![k]!;
  }
  return right;
}
