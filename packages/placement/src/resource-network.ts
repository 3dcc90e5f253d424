// Algorithm 1 of [1]: score = gamma x rascore + delta x nascore.
// [1] Orchestrating DAG workflows on the Cloud-to-Edge continuum, section 3.3.
import { addWeighted, bounded, ColumnPool, minMax, normalised } from "./columns.ts";
import type { MinMax } from "./columns.ts";
import { PlacementError } from "./errors.ts";
import { explain } from "./explain-parts.ts";
import { networkPart } from "./network-part.ts";
import type { PartColumn } from "./network-part.ts";
import { NetworkVectors } from "./network-vector.ts";
import type { PlacementProblem } from "./problem.ts";
import { resourcePart } from "./resource-part.ts";
import { NEUTRAL_SCORE } from "./score-table.ts";
import type { ScoreTable } from "./score-table.ts";
import type { CombinationMode, Strategy } from "./strategy.ts";

/** The weights of Algorithm 1 [1], each from 0 to 1. */
export interface ResourceNetworkWeights {
  /** CPU within the resource part; alpha + beta = 1. */
  readonly alpha: number;
  /** Memory within the resource part. */
  readonly beta: number;
  /** The resource part; gamma + delta = 1. */
  readonly gamma: number;
  /** The network part. */
  readonly delta: number;
}

/** The paper doesn't fix them; equal weights take no side. */
export const DEFAULT_WEIGHTS: ResourceNetworkWeights = { alpha: 0.5, beta: 0.5, gamma: 0.5, delta: 0.5 };

export const RESOURCE_NETWORK = "resource-network";

/** Sums of two weights may miss 1 by this much: 0.1 + 0.9 in binary. */
const SUM_TOLERANCE = 1e-9;
/** CPU, memory, resource, network, their sum, and the score. */
const COLUMNS = 6;
/** 0..1 of a part that doesn't tell the candidates apart. */
const NEUTRAL_PART = NEUTRAL_SCORE / 100;

export class ResourceNetwork implements Strategy {
  readonly name = RESOURCE_NETWORK;
  readonly mode: CombinationMode;
  readonly weights: ResourceNetworkWeights;
  readonly #vectors = new NetworkVectors();

  /** Throws PlacementError `invalid_setting`. */
  constructor(mode: CombinationMode, weights: ResourceNetworkWeights = DEFAULT_WEIGHTS) {
    checkWeights(weights);
    this.mode = mode;
    this.weights = weights;
  }

  score(problem: PlacementProblem, pool: ColumnPool = new ColumnPool()): ScoreTable {
    const { candidates: names } = problem;
    const { alpha, beta, gamma, delta } = this.weights;
    const ids = problem.cluster.graph?.idsOf(names) ?? new Int32Array(names.length).fill(-1);
    const infeasible = problem.infeasible ?? NONE;
    const feasible = feasibleRows(names, infeasible);
    pool.reset(names.length, COLUMNS);
    const resource = resourcePart(problem, ids, { alpha, beta }, pool);
    const network = networkPart(problem, ids, pool, this.#vectors);
    const sum = addUp(pool, resource.part, gamma, network, delta);
    const parts = [
      weighed("resource", gamma, resource.part, feasible),
      weighed("network", delta, network, feasible),
    ];
    const score = this.mode === "raw" ? spread(sum, feasible, pool) : blend(pool, parts);
    if (feasible !== null)
      for (let row = 0; row < score.length; row++) if (feasible[row] === 0) score[row] = 0;
    const scored = resource.part.column !== null || network.column !== null;
    const table = {
      strategy: this.name,
      mode: this.mode,
      names,
      ids,
      raw: masked(sum, scored, ids),
      score,
      parts: {
        cpu: resource.cpuPercent,
        memory: resource.memoryPercent,
        resource: resource.part.column,
        network: network.column,
      },
      infeasible,
    };
    return { ...table, explanation: explain(problem, table, parts, this.mode) };
  }
}

const NONE: ReadonlyMap<string, string> = new Map();

/** A part with its weight and the scale that normalises it; no scale when the part took no side, or is the same everywhere. */
export interface WeighedPart {
  readonly name: string;
  readonly weight: number;
  readonly source: PartColumn;
  readonly scale: MinMax | null;
}

function weighed(name: string, weight: number, source: PartColumn, feasible: Uint8Array | null): WeighedPart {
  return { name, weight, source, scale: source.column === null ? null : minMax(source.column, feasible) };
}

function checkWeights(weights: ResourceNetworkWeights): void {
  for (const name of ["alpha", "beta", "gamma", "delta"] as const) {
    const value = weights[name];
    if (!(value >= 0 && value <= 1))
      throw new PlacementError("invalid_setting", `${name} must be from 0 to 1, got ${value}`);
  }
  for (const [a, b] of [
    ["alpha", "beta"],
    ["gamma", "delta"],
  ] as const) {
    const sum = weights[a] + weights[b];
    if (Math.abs(sum - 1) > SUM_TOLERANCE) {
      throw new PlacementError(
        "invalid_setting",
        `${a} + ${b} must be 1, got ${weights[a]} + ${weights[b]} = ${sum}`,
      );
    }
  }
}

/** The paper's own sum; a neutral part adds nothing. */
function addUp(
  pool: ColumnPool,
  resource: PartColumn,
  gamma: number,
  network: PartColumn,
  delta: number,
): Float64Array {
  const sum = pool.take();
  addWeighted(sum, resource.column, gamma);
  addWeighted(sum, network.column, delta);
  for (let row = 0; row < sum.length; row++) sum[row] = bounded(sum[row]!);
  return sum;
}

/** Percent and bytes x ms can't be added: each part is brought to 0..1 over the candidates first, then weighed. */
function blend(pool: ColumnPool, parts: readonly WeighedPart[]): Float64Array {
  const score = pool.take();
  let neutral = 0;
  for (const { source, scale, weight } of parts) {
    const { column } = source;
    if (column === null || scale === null) {
      neutral += weight;
      continue;
    }
    const points = 100 * weight;
    for (let row = 0; row < score.length; row++) score[row]! += points * normalised(column[row]!, scale);
  }
  const points = 100 * NEUTRAL_PART * neutral;
  // Rounding may lead a hair's breadth beyond the scale.
  for (let row = 0; row < score.length; row++) score[row] = Math.min(100, score[row]! + points);
  return score;
}

function spread(sum: Float64Array, feasible: Uint8Array | null, pool: ColumnPool): Float64Array {
  const scale = minMax(sum, feasible);
  const score = pool.take();
  if (scale === null) return score.fill(NEUTRAL_SCORE);
  for (let row = 0; row < score.length; row++) score[row] = 100 * normalised(sum[row]!, scale);
  return score;
}

/** 1 per row that may be chosen; null when all may. */
function feasibleRows(names: readonly string[], infeasible: ReadonlyMap<string, string>): Uint8Array | null {
  if (infeasible.size === 0) return null;
  return Uint8Array.from(names, (name) => (infeasible.has(name) ? 0 : 1));
}

/** A sum that was filled in, for want of inputs or of the node in the graph, is not shown as one. Changes the column. */
function masked(sum: Float64Array, scored: boolean, ids: Int32Array): Float64Array {
  if (!scored) return sum.fill(Number.NaN);
  for (let row = 0; row < ids.length; row++) if (ids[row]! < 0) sum[row] = Number.NaN;
  return sum;
}
