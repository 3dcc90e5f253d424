// Balances given flows to minimize the most loaded link (ENTS, problem P3) by local search over single paths,
// on a norm dominated by that link, since the maximum itself ignores other moves.
import type { Path, PathTable } from "../paths.ts";
import type { Demand } from "../placed-job.ts";

/** Successive exponents of the norm: low ones relieve crowded regions, high ones the fullest link. */
const NORMS = [8, 4, 16, 32];
const ROUNDS = 20;
const NO_GAIN = 1e-12;

/**
 * A path per demand, in order; null if one has none. The largest load over capacity is the slowest flow's
 * seconds per frame.
 */
export function balancedPaths(
  demands: readonly Demand[],
  paths: PathTable,
  capacities: Float64Array,
): readonly Path[] | null {
  const candidates = demands.map(({ source, target }) => paths.between(source, target));
  if (candidates.some(({ length }) => length === 0)) return null;
  const search = new PathSearch(demands, candidates, capacities);
  const order = [...demands.keys()].sort((a, b) => demands[b]!.bitsPerFrame - demands[a]!.bitsPerFrame);
  let best: readonly Path[] = [];
  let least = Infinity;
  for (const norm of NORMS) {
    for (let round = 0; round < ROUNDS; round++)
      if (!order.map((at) => search.improve(at, norm)).includes(true)) break;
    if (search.fullest() >= least) continue;
    least = search.fullest();
    best = search.chosen.map((path) => path!);
  }
  return best;
}

class PathSearch {
  readonly chosen: (Path | null)[];
  readonly #demands: readonly Demand[];
  readonly #candidates: readonly (readonly Path[])[];
  readonly #capacities: Float64Array;
  readonly #seconds: Float64Array;

  constructor(
    demands: readonly Demand[],
    candidates: readonly (readonly Path[])[],
    capacities: Float64Array,
  ) {
    this.#demands = demands;
    this.#candidates = candidates;
    this.#capacities = capacities;
    this.#seconds = new Float64Array(capacities.length);
    this.chosen = demands.map(() => null);
  }

  fullest(): number {
    return this.#seconds.reduce((most, seconds) => Math.max(most, seconds), 0);
  }

  /** Reassigns the demand's best path. Returns whether it changed. */
  improve(at: number, norm: number): boolean {
    const { bitsPerFrame } = this.#demands[at]!;
    const before = this.chosen[at]!;
    if (before !== null) this.#add(before, -bitsPerFrame);
    let best = before;
    let least = before === null ? Infinity : this.#price(before, bitsPerFrame, norm) * (1 - NO_GAIN);
    for (const path of this.#candidates[at]!) {
      const price = this.#price(path, bitsPerFrame, norm);
      if (price >= least) continue;
      least = price;
      best = path;
    }
    this.chosen[at] = best;
    this.#add(best, bitsPerFrame);
    return best !== before;
  }

  #add({ hops }: Path, bits: number): void {
    for (const hop of hops)
      this.#seconds[hop] = Math.max(0, this.#seconds[hop]! + bits / this.#capacities[hop]!);
  }

  #price({ hops }: Path, bits: number, norm: number): number {
    let price = 0;
    for (const hop of hops) {
      const seconds = this.#seconds[hop]!;
      price += (seconds + bits / this.#capacities[hop]!) ** norm - seconds ** norm;
    }
    return price;
  }
}
