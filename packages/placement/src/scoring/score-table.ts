import type { Candidate } from "@isochrone/topology";
import type { Explanation } from "./explanation.ts";

export const NEUTRAL_SCORE = 50;

/** Rows that a decision ranks; users don't read more. */
export const RANKED_ROWS = 50;

/** Scores in columns: row i is candidate i. Columns, because an extender scores 5,000 nodes per pod. */
export interface ScoreTable {
  readonly strategy: string;
  readonly mode: string;
  readonly names: readonly string[];
  /** Node ids; -1: the graph lacks the node. */
  readonly ids: Int32Array;
  /** Values in the strategy's own unit. NaN: can't be scored. */
  readonly raw: Float64Array;
  /**
   * Score from 0 to 100, more is better, never NaN. 0 for infeasible nodes, unless the strategy scores them.
   */
  readonly score: Float64Array;
  /** Columns by part. Null: the part had no influence. Rows of id -1 hold substitutes. */
  readonly parts: Readonly<Record<string, Float64Array | null>>;
  readonly infeasible: ReadonlyMap<string, string>;
  readonly explanation: Explanation;
}

export function allCandidates({ names, ids, raw, score, parts, infeasible }: ScoreTable): Candidate[] {
  const columns = Object.entries(parts);
  return names.map((name, row) => {
    const reason = infeasible.get(name) ?? null;
    const isKnown = ids[row]! >= 0;
    return {
      name,
      feasible: reason === null,
      reason,
      raw: orNull(raw[row]!),
      score: score[row]!,
      parts: Object.fromEntries(
        columns.map(([part, column]) => [part, column === null || !isKnown ? null : orNull(column[row]!)]),
      ),
    };
  });
}

/** The best rows in order, at most RANKED_ROWS. */
export function rankedTable(table: ScoreTable): ScoreTable {
  return pickRows(table, rank(table));
}

/** Returns a small unsorted table that contains the rows of `rankedTable`. */
export function keptRows(table: ScoreTable): ScoreTable {
  return pickRows(table, selectBest(table));
}

/** More than RANKED_ROWS, so that close scores need no sorting. */
const KEPT_ROWS = 64;
const CLASSES = 512;
const CLASSES_PER_POINT = (CLASSES - 1) / 100;

const counts = new Uint32Array(CLASSES);

function selectBest(table: Rankable): number[] {
  const score = judgedScores(table);
  if (score.length <= KEPT_ROWS) return Array.from(score, (_, row) => row);
  counts.fill(0);
  for (let row = 0; row < score.length; row++) counts[Math.trunc(score[row]! * CLASSES_PER_POINT)]!++;
  let lowest = CLASSES;
  let kept = 0;
  while (kept < RANKED_ROWS) kept += counts[--lowest]!;
  // Too many equal scores: names decide.
  if (kept > KEPT_ROWS) return rank(table);
  const rows: number[] = [];
  for (let row = 0; row < score.length; row++)
    if (Math.trunc(score[row]! * CLASSES_PER_POINT) >= lowest) rows.push(row);
  return rows;
}

function pickRows(table: ScoreTable, rows: readonly number[]): ScoreTable {
  return new PickedRows(table, rows);
}

/** Cuts out columns on access, because most decisions are never read. */
class PickedRows implements ScoreTable {
  readonly strategy: string;
  readonly mode: string;
  readonly names: readonly string[];
  readonly ids: Int32Array;
  readonly infeasible: ReadonlyMap<string, string>;
  readonly explanation: Explanation;
  readonly #parts: readonly (readonly [string, boolean])[];
  /** Columns in sequence: raw, score, and the parts with influence. */
  readonly #block: Float64Array;

  constructor(table: ScoreTable, rows: readonly number[]) {
    this.strategy = table.strategy;
    this.mode = table.mode;
    this.explanation = table.explanation;
    this.names = rows.map((row) => table.names[row]!);
    this.infeasible = table.infeasible.size === 0 ? NONE : reasonsOf(this.names, table.infeasible);
    const columns = [table.raw, table.score];
    this.#parts = Object.entries(table.parts).map(([part, column]) => {
      if (column !== null) columns.push(column);
      return [part, column !== null];
    });
    this.#block = new Float64Array(columns.length * rows.length);
    this.ids = new Int32Array(rows.length);
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index]!;
      this.ids[index] = table.ids[row]!;
      for (let column = 0; column < columns.length; column++)
        this.#block[column * rows.length + index] = columns[column]![row]!;
    }
  }

  get raw(): Float64Array {
    return this.#column(0);
  }

  get score(): Float64Array {
    return this.#column(1);
  }

  get parts(): Readonly<Record<string, Float64Array | null>> {
    let index = 2;
    return Object.fromEntries(
      this.#parts.map(([part, tookSide]) => [part, tookSide ? this.#column(index++) : null]),
    );
  }

  #column(index: number): Float64Array {
    const rows = this.names.length;
    return this.#block.subarray(index * rows, (index + 1) * rows);
  }
}

const NONE: ReadonlyMap<string, string> = new Map();

function reasonsOf(names: readonly string[], reasons: ReadonlyMap<string, string>): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of names) {
    const reason = reasons.get(name);
    if (reason !== undefined) found.set(name, reason);
  }
  return found;
}

/** Row with the highest score. Breaks ties by name; -1 if no row is feasible. */
export function bestRow(table: Rankable): number {
  return bestRows(table)[0];
}

export function bestRows(table: Rankable): readonly [number, number] {
  const { score, names, infeasible } = table;
  let best = -1;
  let second = -1;
  for (let row = 0; row < score.length; row++) {
    if (second >= 0 && score[row]! < score[second]!) continue;
    if (infeasible.size > 0 && infeasible.has(names[row]!)) continue;
    if (best < 0 || isBefore(table, row, best)) {
      second = best;
      best = row;
    } else if (second < 0 || isBefore(table, row, second)) second = row;
  }
  return [best, second];
}

/** Ranks rows, best first, at most RANKED_ROWS. One pass: the score alone excludes most rows. */
export function rank(ranked: Rankable): number[] {
  const { names, infeasible } = ranked;
  const score = judgedScores(ranked);
  const table = { names, infeasible, score };
  const rows: number[] = [];
  let least = -Infinity;
  for (let row = 0; row < score.length; row++) {
    const own = score[row]!;
    if (own < least) continue;
    const full = rows.length === RANKED_ROWS;
    if (full && !isBefore(table, row, rows[RANKED_ROWS - 1]!)) continue;
    let place = full ? RANKED_ROWS - 1 : rows.length;
    for (; place > 0; place--) {
      const other = rows[place - 1]!;
      if (score[other]! > own || (score[other] === own && !isBefore(table, row, other))) break;
      rows[place] = other;
    }
    rows[place] = row;
    if (rows.length === RANKED_ROWS) least = score[rows[RANKED_ROWS - 1]!]!;
  }
  return rows;
}

type Rankable = Pick<ScoreTable, "names" | "score" | "infeasible">;

/** Infeasible rows count as 0, even if the strategy scores them. */
function judgedScores({ score, names, infeasible }: Rankable): Float64Array {
  if (infeasible.size === 0) return score;
  return score.map((own, row) => (own !== 0 && infeasible.has(names[row]!) ? 0 : own));
}

function isBefore(table: Rankable, row: number, other: number): boolean {
  const difference = table.score[row]! - table.score[other]!;
  if (difference !== 0) return difference > 0;
  if (table.infeasible.size > 0) {
    const rejected =
      Number(table.infeasible.has(table.names[row]!)) - Number(table.infeasible.has(table.names[other]!));
    if (rejected !== 0) return rejected < 0;
  }
  return table.names[row]! < table.names[other]!;
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
