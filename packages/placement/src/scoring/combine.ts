import { addWeighted, bounded, minMax, normalised } from "./columns.ts";
import type { ColumnPool } from "./columns.ts";
import { PlacementError } from "./errors.ts";
import { explain } from "./explain-parts.ts";
import type { PlacementProblem } from "./problem.ts";
import { NEUTRAL_SCORE } from "./score-table.ts";
import type { ScoreTable } from "./score-table.ts";
import type { CombinationMode } from "./strategy.ts";
import type { PartSource, WeighedPart } from "./weighed-part.ts";

/**
 * Smallest spread, relative to the largest value, that is stretched to 0..1. Free resources and round-trip
 * times vary by some percent between windows.
 */
export const DEFAULT_MIN_SPREAD = 0.1;

interface Combination {
  readonly strategy: string;
  readonly mode: CombinationMode;
  readonly minSpread: number;
  readonly parts: readonly PartSource[];
  readonly details?: Readonly<Record<string, Float64Array | null>>;
}

/** Node ids of the candidates; -1: the graph lacks the node. */
export function candidateIds({ cluster, candidates }: PlacementProblem): Int32Array {
  return cluster.graph?.idsOf(candidates) ?? new Int32Array(candidates.length).fill(-1);
}

/** Combines parts to scores. Uses two columns of the pool. */
export function combineParts(
  problem: PlacementProblem,
  ids: Int32Array,
  pool: ColumnPool,
  { strategy, mode, minSpread, parts: sources, details }: Combination,
): ScoreTable {
  const { candidates: names, infeasible = NONE } = problem;
  const feasible = feasibleRows(names, infeasible);
  const sum = addUp(pool, sources);
  const parts = sources.map((part): WeighedPart => {
    const { column } = part.source;
    return { ...part, scale: column === null ? null : minMax(column, feasible, minSpread) };
  });
  const score = mode === "raw" ? spread(sum, feasible, pool) : blend(pool, parts);
  if (feasible !== null) for (let row = 0; row < score.length; row++) if (feasible[row] === 0) score[row] = 0;
  const scored = sources.some(({ source }) => source.column !== null);
  const shown = Object.fromEntries(sources.map(({ name, source }) => [name, source.column]));
  const table = {
    strategy,
    mode,
    names,
    ids,
    raw: masked(sum, scored, ids),
    score,
    parts: { ...details, ...shown },
    infeasible,
  };
  return { ...table, explanation: explain(problem, table, parts, mode) };
}

export function checkMinSpread(minSpread: number): void {
  if (!(minSpread >= 0 && minSpread <= 1))
    throw new PlacementError("invalid_setting", `minSpread must be from 0 to 1, got ${minSpread}`);
}

const NONE: ReadonlyMap<string, string> = new Map();
const NEUTRAL_PART = NEUTRAL_SCORE / 100;

function addUp(pool: ColumnPool, parts: readonly PartSource[]): Float64Array {
  const sum = pool.take();
  for (const { source, weight, rawWeight = weight } of parts) addWeighted(sum, source.column, rawWeight);
  for (let row = 0; row < sum.length; row++) sum[row] = bounded(sum[row]!);
  return sum;
}

/** Scales each part to 0..1 over the candidates, because units differ. */
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

function feasibleRows(names: readonly string[], infeasible: ReadonlyMap<string, string>): Uint8Array | null {
  if (infeasible.size === 0) return null;
  return Uint8Array.from(names, (name) => (infeasible.has(name) ? 0 : 1));
}

/** Hides sums of missing inputs. Changes the column. */
function masked(sum: Float64Array, scored: boolean, ids: Int32Array): Float64Array {
  if (!scored) return sum.fill(Number.NaN);
  for (let row = 0; row < ids.length; row++) if (ids[row]! < 0) sum[row] = Number.NaN;
  return sum;
}
