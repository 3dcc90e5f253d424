// Algorithm 1 of [1]: score = gamma x rascore + delta x nascore.
// [1] Orchestrating DAG workflows on the Cloud-to-Edge continuum, section 3.3.
import { bounded, ColumnPool, minMax } from "./columns.ts";
import { PlacementError } from "./errors.ts";
import { explain } from "./explain-parts.ts";
import { networkPart } from "./network-part.ts";
import type { PartColumn } from "./network-part.ts";
import type { PlacementProblem } from "./problem.ts";
import { resourcePart } from "./resource-part.ts";
import { NEUTRAL_SCORE, rank } from "./score-table.ts";
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
/** CPU, memory, resource, network, their sum, two normalised parts, and the score. */
const COLUMNS = 8;
/** 0..1 of a part that doesn't tell the candidates apart. */
const NEUTRAL_PART = NEUTRAL_SCORE / 100;

export class ResourceNetwork implements Strategy {
  readonly name = RESOURCE_NETWORK;
  readonly mode: CombinationMode;
  readonly weights: ResourceNetworkWeights;

  /** Throws PlacementError `invalid_setting`. */
  constructor(mode: CombinationMode, weights: ResourceNetworkWeights = DEFAULT_WEIGHTS) {
    checkWeights(weights);
    this.mode = mode;
    this.weights = weights;
  }

  score(problem: PlacementProblem): ScoreTable {
    const { candidates: names } = problem;
    const { alpha, beta, gamma, delta } = this.weights;
    const ids = problem.cluster.graph?.idsOf(names) ?? new Int32Array(names.length).fill(-1);
    const infeasible = problem.infeasible ?? new Map<string, string>();
    const feasible = feasibleRows(names, infeasible);
    const pool = new ColumnPool(names.length, COLUMNS);
    const resource = resourcePart(problem, ids, { alpha, beta }, pool);
    const network = networkPart(problem, ids, pool);
    const sum = addUp(pool, resource.part, gamma, network, delta);
    const normalised = {
      resource: normalise(resource.part, feasible, pool),
      network: normalise(network, feasible, pool),
    };
    const score = this.mode === "raw" ? spread(sum, feasible, pool) : blend(pool, normalised, gamma, delta);
    if (infeasible.size > 0)
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
      ranking: rank({ names, score, infeasible }),
    };
    return {
      ...table,
      explanation: explain(problem, table, this.#weigh(resource.part, network, normalised)),
    };
  }

  /** The parts as they count in the chosen mode, for the question which one decided. */
  #weigh(resource: PartColumn, network: PartColumn, normalised: NormalisedParts): WeighedPart[] {
    const { gamma, delta } = this.weights;
    return [
      {
        name: "resource",
        weight: gamma,
        source: resource,
        counted: this.mode === "raw" ? resource.column : normalised.resource,
      },
      {
        name: "network",
        weight: delta,
        source: network,
        counted: this.mode === "raw" ? network.column : normalised.network,
      },
    ];
  }
}

/** A part with its weight; `counted` is what the weight multiplies, null when the part took no side. */
export interface WeighedPart {
  readonly name: string;
  readonly weight: number;
  readonly source: PartColumn;
  readonly counted: Float64Array | null;
}

interface NormalisedParts {
  readonly resource: Float64Array | null;
  readonly network: Float64Array | null;
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

function normalise(part: PartColumn, feasible: Uint8Array, pool: ColumnPool): Float64Array | null {
  return part.column === null ? null : minMax(part.column, feasible, pool);
}

/** Percent and bytes x ms can't be added: each part is brought to 0..1 over the candidates first, then weighed. */
function blend(
  pool: ColumnPool,
  { resource, network }: NormalisedParts,
  gamma: number,
  delta: number,
): Float64Array {
  const neutral = (resource === null ? gamma : 0) + (network === null ? delta : 0);
  const score = pool.take().fill(100 * NEUTRAL_PART * neutral);
  addWeighted(score, resource, 100 * gamma);
  addWeighted(score, network, 100 * delta);
  // Rounding may lead a hair's breadth beyond the scale.
  for (let row = 0; row < score.length; row++) score[row] = Math.min(100, score[row]!);
  return score;
}

function addWeighted(sum: Float64Array, column: Float64Array | null, weight: number): void {
  if (column === null) return;
  for (let row = 0; row < sum.length; row++) sum[row]! += weight * column[row]!;
}

function spread(sum: Float64Array, feasible: Uint8Array, pool: ColumnPool): Float64Array {
  const normalised = minMax(sum, feasible, pool);
  return normalised === null ? pool.take().fill(NEUTRAL_SCORE) : normalised.map((value) => 100 * value);
}

function feasibleRows(names: readonly string[], infeasible: ReadonlyMap<string, string>): Uint8Array {
  const rows = new Uint8Array(names.length).fill(1);
  if (infeasible.size > 0)
    for (let row = 0; row < rows.length; row++) if (infeasible.has(names[row]!)) rows[row] = 0;
  return rows;
}

/** A sum that was filled in, for want of inputs or of the node in the graph, is not shown as one. Changes the column. */
function masked(sum: Float64Array, scored: boolean, ids: Int32Array): Float64Array {
  if (!scored) return sum.fill(Number.NaN);
  for (let row = 0; row < ids.length; row++) if (ids[row]! < 0) sum[row] = Number.NaN;
  return sum;
}
