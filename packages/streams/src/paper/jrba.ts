// ENTS, Algorithm 2 (JRBA): routes by rounding a linear relaxation, rates proportional to volumes.
import { LinearProgram, type LinearSolver } from "@isochrone/primitives/algorithms";
import type { PathTable, Path } from "../paths.ts";
import type { Demand } from "../placed-job.ts";

type Routed<D extends Demand> = D & { readonly path: Path; readonly bitsPerSecond: number };

export interface JrbaOptions {
  readonly solve: LinearSolver;
  readonly timeMs?: number;
  /**
   * `printed`: the solver's choice among optima. `shortest`: prefers few hops on wide links, large flows
   * first, since the relaxation determines only the slowest flow.
   * @default "printed"
   */
  readonly ties?: "printed" | "shortest";
}

interface JrbaResult<D extends Demand> {
  readonly flows: readonly Routed<D>[];
  /** Optimum of the relaxation: a lower bound on the slowest flow's seconds per frame. */
  readonly boundSeconds: number;
}

const NO_ROOM = 1e-12;
const DEFAULT_TIME_MS = 10_000;
const TIE_WEIGHT = 1e-2;
const EQUAL = 1e-9;
/** Digits of a coefficient; further ones are unit-dependent rounding errors. */
const DIGITS = 12;

/**
 * Null if a demand has no path with room, or the solver finds no optimum.
 * @param capacities remaining, bits/s
 */
export async function jointRoutes<D extends Demand>(
  demands: readonly D[],
  paths: PathTable,
  capacities: Float64Array,
  options: JrbaOptions,
): Promise<JrbaResult<D> | null> {
  if (demands.length === 0) return { flows: [], boundSeconds: 0 };
  const noRoom = NO_ROOM * capacities.reduce((most, capacity) => Math.max(most, capacity), 0);
  const candidates = demands.map(({ source, target }) =>
    paths.between(source, target).filter(({ hops }) => hops.every((hop) => capacities[hop]! > noRoom)),
  );
  if (candidates.some(({ length }) => length === 0)) return null;
  const unitSeconds = leastSeconds(demands, candidates, capacities);
  const program = relaxation(demands, candidates, capacities, unitSeconds, options.ties ?? "printed");
  const solution = await options.solve(program.text(), options.timeMs ?? DEFAULT_TIME_MS);
  if (solution.status !== "optimal") return null;
  const chosen = demands.map((demand, at) => {
    const part = (path: number): number => solution.values.get(variable(at, path)) ?? 0;
    const best = candidates[at]!.reduce(
      (most, _, path) => (part(path) > part(most) + EQUAL ? path : most),
      0,
    );
    return { ...demand, path: candidates[at]![best]! };
  });
  return { flows: proportionalRates(chosen, capacities), boundSeconds: solution.bound * unitSeconds };
}

const variable = (demand: number, path: number): string => `m${demand}_${path}`;

/** Seconds of the slowest flow if each had the network alone: a lower bound. */
function leastSeconds(
  demands: readonly Demand[],
  candidates: readonly (readonly Path[])[],
  capacities: Float64Array,
): number {
  const alone = demands.map(({ bitsPerFrame }, at) => {
    const widest = candidates[at]!.map(({ hops }) => Math.min(...hops.map((hop) => capacities[hop]!)));
    return bitsPerFrame / Math.max(...widest);
  });
  return Math.max(...alone) || 1;
}

/**
 * P3-Relax-Cvx (ENTS, equations 10 to 14) with q_i = V_i, minimized. Volumes are scaled by the largest, and
 * `threshold` (the slowest flow's time) by `unitSeconds`: solver tolerances are absolute and would be too
 * coarse in bits.
 */
function relaxation(
  demands: readonly Demand[],
  candidates: readonly (readonly Path[])[],
  capacities: Float64Array,
  unitSeconds: number,
  ties: "printed" | "shortest",
): LinearProgram {
  const unitBits = Math.max(...demands.map(({ bitsPerFrame }) => bitsPerFrame)) || 1;
  const rounded = (value: number): number => Number(value.toPrecision(DIGITS));
  const capacity = (hop: number): number => rounded(capacities[hop]! / unitBits);
  const program = new LinearProgram();
  program.cost(rounded(1 / unitSeconds), "threshold");
  const loads = new Map<number, [number, string][]>();
  for (const [at, demand] of demands.entries()) {
    const parts: [number, string][] = [];
    const tie = (TIE_WEIGHT * demand.bitsPerFrame) / unitBits / demands.length;
    for (const [path, { hops }] of candidates[at]!.entries()) {
      const name = variable(at, path);
      parts.push([1, name]);
      for (const hop of hops) {
        const terms = loads.get(hop);
        if (terms === undefined) loads.set(hop, [[1, name]]);
        else terms.push([1, name]);
      }
      if (ties === "shortest")
        program.cost(
          rounded((tie * hops.reduce((sum, hop) => sum + 1 / capacity(hop), 0)) / unitSeconds),
          name,
        );
    }
    program.row(parts, ">=", rounded(demand.bitsPerFrame / unitBits));
  }
  for (const [hop, terms] of loads) program.row([...terms, [-capacity(hop), "threshold"]], "<=", 0);
  return program;
}

/**
 * Divides each link by volumes; a flow gets the minimum over its links (ENTS, equation 15, with the B_l
 * missing in print).
 */
export function proportionalRates<D extends Demand & { readonly path: Path }>(
  demands: readonly D[],
  capacities: Float64Array,
): Routed<D>[] {
  const load = new Float64Array(capacities.length);
  for (const { path, bitsPerFrame } of demands) for (const hop of path.hops) load[hop]! += bitsPerFrame;
  return demands.map((demand) => ({
    ...demand,
    bitsPerSecond: demand.path.hops.reduce(
      (least, hop) => Math.min(least, (capacities[hop]! * demand.bitsPerFrame) / load[hop]!),
      Infinity,
    ),
  }));
}
