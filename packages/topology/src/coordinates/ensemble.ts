// The mean of several embeddings beats the best member, and their disagreement shows uncertainty.
import { squaredDistance } from "./embedding.ts";
import type { MemberOptions } from "./embedding.ts";

const COMMON = { huberWidth: 0.1, heightRidge: 1e-3 } as const;

export const MEMBERS: readonly MemberOptions[] = [
  { ...COMMON, dimensions: 4, ridge: 0.03, rounding: 0.02 },
  { ...COMMON, dimensions: 3, ridge: 0.1, rounding: 0.05 },
  { ...COMMON, dimensions: 8, ridge: 0.1, rounding: 0.05 },
  { ...COMMON, dimensions: 5, ridge: 0.03, rounding: 0.05 },
  { ...COMMON, dimensions: 2, ridge: 0.03, rounding: 0.05 },
];

/** Published coordinates: few dimensions, little rounding. */
export const CANONICAL_MEMBER = 0;

const DISTANCE_MEMBERS = [0, 2] as const;

export const MAX_DIMENSIONS: number = Math.max(...MEMBERS.map(({ dimensions }) => dimensions));

/** Evaluates an ensemble. `evaluate` stores its result in fields, to avoid an object per pair. */
export class Ensemble {
  log = 0;
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

  distance(a: number, b: number): number {
    let sum = 0;
    for (const member of DISTANCE_MEMBERS)
      sum += Math.sqrt(squaredDistance(this.#positions[member]!, a, b, MEMBERS[member]!.dimensions));
    return sum / DISTANCE_MEMBERS.length;
  }
}
