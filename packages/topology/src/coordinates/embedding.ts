// One embedding: RTT(i, j) = |x_i - x_j| + h_i + h_j, fitted to the logarithms of the measured pairs. The
// height is what a packet pays on every path of a node (Dabek et al., Vivaldi, 2004); it is an exponential,
// so that it can't become negative.
import type { Draw } from "@isochrone/primitives";
import { minimise } from "./minimise.ts";
import { gaussian } from "./random.ts";

/** How one member of the ensemble is fitted; lengths in units of the median RTT. */
export interface MemberOptions {
  readonly dimensions: number;
  /** Residuals of the logarithm above this count linearly instead of squared (pseudo-Huber). */
  readonly huberWidth: number;
  /** Draws positions to the origin. */
  readonly ridge: number;
  /** Draws the logarithms of heights to `restLogHeight`. */
  readonly heightRidge: number;
  /** Distances below this are rounded off: |x| has no gradient at 0, where nodes of one site lie. */
  readonly rounding: number;
}

/** An eighth of the pairs' median is a height that rarely matters; each fit starts somewhat above. */
const REST_LOG_HEIGHT = -3;
const START_LOG_HEIGHT = -2;
/** Shortest paths are longer than the direct ones. */
const START_SHRINKAGE = 0.8;
const START_JITTER = 0.01;

/** Start positions from the columns of the scaling. */
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

/** The pairs of the objective: logarithms of RTTs between two nodes each. */
interface MemberFit {
  readonly nodes: number;
  readonly first: Int32Array;
  readonly second: Int32Array;
  readonly value: Float64Array;
  readonly weight: Float64Array;
}

/** Improves `positions` in place; gives the number of steps. */
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

/** Squared distance of two nodes, heights left out. */
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
