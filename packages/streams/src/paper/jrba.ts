// ENTS, Algorithm 2 (JRBA): routes by rounding a linear relaxation, rates in proportion to volumes.
import { LinearProgram, type LinearSolver } from "@isochrone/primitives/algorithms";
import type { PathTable, Path } from "../paths.ts";
import type { Demand } from "../placed-job.ts";

/** A demand with a path and a rate. */
type Routed<D extends Demand> = D & { readonly path: Path; readonly bitsPerSecond: number };

export interface JrbaOptions {
  readonly solve: LinearSolver;
  /** How long the solver may take. @default 10000 */
  readonly timeMs?: number;
  /**
   * `printed`: of equally good solutions the solver's. `shortest`: those with few hops on wide links, for
   * large flows before small ones, because the relaxation leaves all flows but the worst one undecided.
   * @default "printed"
   */
  readonly ties?: "printed" | "shortest";
}

interface JrbaResult<D extends Demand> {
  readonly flows: readonly Routed<D>[];
  /**
   * No choice of paths and rates has a longer-lasting flow of fewer seconds per frame: the relaxation's
   * optimum.
   */
  readonly boundSeconds: number;
}

/** Capacities below this have no room, as a share of the largest. */
const NO_ROOM = 1e-12;
const DEFAULT_TIME_MS = 10_000;
/** Weight of the number of hops, of the objective. */
const TIE_WEIGHT = 1e-2;
/** Differences of a flow's parts that are rounding errors of the solver. */
const EQUAL = 1e-9;
/** Digits of a coefficient; further ones are rounding errors that depend on the units. */
const DIGITS = 12;

/**
 * Null when a demand has no path with room, or the solver finds no optimum.
 * @param capacities what is left of them, bits/s
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

/** Seconds of the slowest flow when each has the network for itself: no solution is faster. */
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
 * P3-Relax-Cvx (ENTS, equations 10 to 14) with q_i = V_i, as small as it may be. Volumes are in units of the
 * largest and `threshold`, the time of the slowest flow, in `unitSeconds`: the solver's tolerances are
 * absolute, so in bits a large problem would end far from its optimum.
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
 * Each link is divided by volumes, and a flow gets the least of its links (ENTS, equation 15, with B_l, which
 * the print leaves out).
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
