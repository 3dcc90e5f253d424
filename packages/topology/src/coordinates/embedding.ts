// RTT(i, j) = |x_i - x_j| + h_i + h_j, fitted to logarithms of measured pairs. The height h is a node's cost
// on every path (Dabek et al., Vivaldi, 2004), an exponential to stay positive.
import type { Draw } from "@isochrone/primitives";
import { minimise } from "./minimise.ts";
import { gaussian } from "./random.ts";

/** Lengths are in units of the median RTT. */
export interface MemberOptions {
  readonly dimensions: number;
  /** Larger log residuals count linearly (pseudo-Huber). */
  readonly huberWidth: number;
  readonly ridge: number;
  readonly heightRidge: number;
  /** Smooths smaller distances: |x| has no gradient at 0, where nodes of one site lie. */
  readonly rounding: number;
}

/** exp(-3) of the median RTT rarely matters. Fits start somewhat higher. */
const REST_LOG_HEIGHT = -3;
const START_LOG_HEIGHT = -2;
/** Shortest paths are longer than direct ones. */
const START_SHRINKAGE = 0.8;
const START_JITTER = 0.01;

export function startPositions(
  columns: readonly Float64Array[],
  dimensions: number,
  random: Draw,
): Float64Array {
  const nodes = columns[0]?.length ?? 0;
  const stride = dimensions + 1;
  const positions = new Float64Array(nodes * stride);
  for (let node = 0; node < nodes; node++) {
    for (let k = 0; k < dimensions; k++) {
      const at = START_SHRINKAGE * (columns[k]?.[node] ?? 0);
      positions[node * stride + k] = at + START_JITTER * gaussian(random);
    }
    positions[node * stride + dimensions] = START_LOG_HEIGHT;
  }
  return positions;
}

interface MemberFit {
  readonly nodes: number;
  readonly first: Int32Array;
  readonly second: Int32Array;
  readonly value: Float64Array;
  readonly weight: Float64Array;
}

export function fitMember(
  positions: Float64Array,
  fit: MemberFit,
  options: MemberOptions,
  maxSteps: number,
): number {
  const heights = new Float64Array(fit.nodes);
  const { steps } = minimise(
    positions,
    (at, gradient, diagonal) => {
      const value = addPriors(at, gradient, diagonal, heights, options);
      return value + addPairs(at, gradient, diagonal, heights, fit, options);
    },
    { maxSteps, tolerance: 1e-5 },
  );
  return steps;
}

/** Squared distance of two nodes without heights. */
export function squaredDistance(positions: Float64Array, a: number, b: number, dimensions: number): number {
  const stride = dimensions + 1;
  let squared = 0;
  for (let k = 0; k < dimensions; k++)
    squared += (positions[a * stride + k]! - positions[b * stride + k]!) ** 2;
  return squared;
}

function addPriors(
  at: Float64Array,
  gradient: Float64Array,
  diagonal: Float64Array,
  heights: Float64Array,
  { dimensions, ridge, heightRidge }: MemberOptions,
): number {
  let value = 0;
  for (let node = 0, k = 0; node < heights.length; node++, k++) {
    for (const end = k + dimensions; k < end; k++) {
      const x = at[k]!;
      value += ridge * x * x;
      gradient[k] = 2 * ridge * x;
      diagonal[k] = 2 * ridge;
    }
    const height = at[k]! - REST_LOG_HEIGHT;
    value += heightRidge * height * height;
    gradient[k] = 2 * heightRidge * height;
    diagonal[k] = 2 * heightRidge;
    heights[node] = Math.exp(at[k]!);
  }
  return value;
}

function addPairs(
  at: Float64Array,
  gradient: Float64Array,
  diagonal: Float64Array,
  heights: Float64Array,
  { first, second, value: wanted, weight }: MemberFit,
  { dimensions, huberWidth, rounding }: MemberOptions,
): number {
  const stride = dimensions + 1;
  const corner = rounding * rounding;
  let value = 0;
  for (let pair = 0; pair < first.length; pair++) {
    const a = first[pair]!;
    const b = second[pair]!;
    const atA = a * stride;
    const atB = b * stride;
    let squared = corner;
    for (let k = 0; k < dimensions; k++) {
      const apart = at[atA + k]! - at[atB + k]!;
      squared += apart * apart;
    }
    const distance = Math.sqrt(squared);
    const heightA = heights[a]!;
    const heightB = heights[b]!;
    const inverse = 1 / (distance - rounding + heightA + heightB);
    const residual = (-Math.log(inverse) - wanted[pair]!) / huberWidth;
    const bend = Math.sqrt(1 + residual * residual);
    const pairWeight = weight[pair]!;
    value += pairWeight * (bend - 1) * huberWidth * huberWidth;
    const slope = (pairWeight * huberWidth * residual * inverse) / bend;
    const stiffness = (pairWeight * inverse * inverse) / bend;
    const direction = slope / distance;
    const share = stiffness / dimensions;
    for (let k = 0; k < dimensions; k++) {
      const force = direction * (at[atA + k]! - at[atB + k]!);
      gradient[atA + k]! += force;
      gradient[atB + k]! -= force;
      diagonal[atA + k]! += share;
      diagonal[atB + k]! += share;
    }
    gradient[atA + dimensions]! += slope * heightA;
    gradient[atB + dimensions]! += slope * heightB;
    diagonal[atA + dimensions]! += stiffness * heightA * heightA;
    diagonal[atB + dimensions]! += stiffness * heightB * heightB;
  }
  return value;
}
