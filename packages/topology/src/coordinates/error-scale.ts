// Expected error of an estimate, as the scale of a Laplace distribution learnt from held-out pairs:
// log(scale) = weights . features.

export const FEATURES = 5;

interface PairOutlook {
  readonly log: number;
  readonly spread: number;
  readonly degreeA: number;
  readonly degreeB: number;
  readonly nodeErrorA: number;
  readonly nodeErrorB: number;
}

/**
 * Writes a pair's features as differences from `typical`, because fits with more pairs or rounds have other
 * levels at equal errors.
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

export const NOTHING_TYPICAL: readonly number[] = [0, 0, 0, 0, 0];

/** Errors below 0.5 % are not distinguished. */
const LEAST_SCALE = 0.005;
/** Prior: errors of 20 %, more at badly fitted nodes. */
export const PRIOR_WEIGHTS: readonly number[] = [Math.log(0.2), 0, 0, 0, 1];
const PRIOR_PAIRS = 4;
const ITERATIONS = 12;
/** Limits the influence of one outlier. */
const MAX_RATIO = 8;
const MAX_STEP = 2;
/** Bounds for extrapolation: 0.05 % to 5 times the estimate. */
const LOG_SCALE_BOUNDS = [Math.log(5e-4), Math.log(5)] as const;

export function scaleOf(weights: Float64Array, features: Float64Array, offset: number): number {
  let log = 0;
  for (let k = 0; k < FEATURES; k++) log += weights[k]! * features[offset + k]!;
  return Math.exp(Math.max(LOG_SCALE_BOUNDS[0], Math.min(LOG_SCALE_BOUNDS[1], log)));
}

/** Fisher scoring. @param size absolute error of each row */
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

/** Gaussian elimination without pivoting: the matrix is positive definite. Overwrites its arguments. */
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
