// Several embeddings of different dimension and stiffness: their mean is better than the best of them, their
// disagreement says where none is to be trusted.
import { squaredDistance } from "./embedding.ts";
import type { MemberOptions } from "./embedding.ts";

const COMMON = { huberWidth: 0.1, heightRidge: 1e-3 } as const;

/** The members of every fit. */
export const MEMBERS: readonly MemberOptions[] = [
  { ...COMMON, dimensions: 4, ridge: 0.03, rounding: 0.02 },
  { ...COMMON, dimensions: 3, ridge: 0.1, rounding: 0.05 },
  { ...COMMON, dimensions: 8, ridge: 0.1, rounding: 0.05 },
  { ...COMMON, dimensions: 5, ridge: 0.03, rounding: 0.05 },
  { ...COMMON, dimensions: 2, ridge: 0.03, rounding: 0.05 },
];

/** Whose coordinates are published: few dimensions, hardly rounded. */
export const CANONICAL_MEMBER = 0;

/** Enough to say who is near. */
const DISTANCE_MEMBERS = [0, 2] as const;

/** Columns that a cold start needs. */
export const MAX_DIMENSIONS: number = Math.max(...MEMBERS.map(({ dimensions }) => dimensions));

/**
 * Reads an ensemble's positions. The answer of the last `evaluate` stands in the fields: no object per pair.
 */
export class Ensemble {
  /** Mean logarithm of the members' estimates. */
  log = 0;
  /** Standard deviation between the members. */
  spread = 0;
  readonly #positions: readonly Float64Array[];
  readonly #heights: readonly Float64Array[];

  constructor(positions: readonly Float64Array[]) {
    this.#positions = positions;
    this.#heights = positions.map((at, member) => {
      const stride = MEMBERS[member]!.dimensions + 1;
      return Float64Array.from({ length: at.length / stride }, (_, node) =>
        Math.exp(at[node * stride + stride - 1]!),
      );
    });
  }

  evaluate(a: number, b: number): void {
    let sum = 0;
    let squares = 0;
    for (let member = 0; member < MEMBERS.length; member++) {
      const { dimensions, rounding } = MEMBERS[member]!;
      const heights = this.#heights[member]!;
      const squared = squaredDistance(this.#positions[member]!, a, b, dimensions) + rounding * rounding;
      const log = Math.log(Math.sqrt(squared) - rounding + heights[a]! + heights[b]!);
      sum += log;
      squares += log * log;
    }
    this.log = sum / MEMBERS.length;
    this.spread = Math.sqrt(Math.max(0, squares / MEMBERS.length - this.log * this.log));
  }

  /** Mean distance of two nodes over members of few and of many dimensions, heights left out. */
  distance(a: number, b: number): number {
    let sum = 0;
    for (const member of DISTANCE_MEMBERS)
      sum += Math.sqrt(squaredDistance(this.#positions[member]!, a, b, MEMBERS[member]!.dimensions));
    return sum / DISTANCE_MEMBERS.length;
  }
}
