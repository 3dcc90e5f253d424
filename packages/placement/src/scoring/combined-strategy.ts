import { ColumnPool } from "./columns.ts";
import { candidateIds } from "./combine.ts";
import type { WeighedPart } from "./weighed-part.ts";
import { explain } from "./explain-parts.ts";
import { nodesBeyondLimits } from "./limits.ts";
import type { PlacementProblem } from "./problem.ts";
import type { ScoreTable } from "./score-table.ts";
import type { Strategy } from "./strategy.ts";

interface WeighedStrategy {
  readonly strategy: Strategy;
  readonly weight: number;
}

const SCALE = { least: 0, range: 100 };

export class CombinedStrategy implements Strategy {
  readonly name: string;
  readonly mode = "combined";
  readonly strategies: readonly WeighedStrategy[];
  readonly #pools: readonly ColumnPool[];

  constructor(name: string, strategies: readonly WeighedStrategy[]) {
    this.name = name;
    this.strategies = strategies;
    // Each strategy resets its pool, but the columns of all are needed at once.
    this.#pools = strategies.map(() => new ColumnPool());
  }

  /**
   * Rejects a node if one strategy's own rules reject it, or the common limits do for a strategy without
   * rules.
   */
  filter(problem: PlacementProblem): ReadonlyMap<string, string> {
    const rejected = new Map<string, string>();
    const own = this.strategies.map(({ strategy }) => strategy.filter?.(problem) ?? null);
    if (own.includes(null)) add(rejected, nodesBeyondLimits(problem));
    for (const nodes of own) add(rejected, nodes ?? NONE);
    return rejected;
  }

  score(problem: PlacementProblem, pool: ColumnPool = new ColumnPool()): ScoreTable {
    const { candidates: names, infeasible = NONE } = problem;
    const ids = candidateIds(problem);
    const tables = this.strategies.map(({ strategy }, index) => strategy.score(problem, this.#pools[index]));
    pool.reset(names.length, 2 + tables.reduce((sum, { parts }) => sum + Object.keys(parts).length, 0));
    const score = pool.take();
    const raw = pool.take();
    for (const [index, { weight }] of this.strategies.entries()) {
      const own = tables[index]!.score;
      for (let row = 0; row < score.length; row++) score[row]! += weight * own[row]!;
    }
    for (let row = 0; row < score.length; row++) {
      score[row] = infeasible.size > 0 && infeasible.has(names[row]!) ? 0 : Math.min(100, score[row]!);
      raw[row] = ids[row]! < 0 ? Number.NaN : score[row]!;
    }
    const table = {
      strategy: this.name,
      mode: this.mode,
      names,
      ids,
      raw,
      score,
      parts: partsOf(tables, pool),
      infeasible,
    };
    const parts = tables.map((each, index) => this.#part(each, index));
    const within = tables.flatMap(({ strategy, explanation }) =>
      explanation.neutral.map(({ part, reason }) => ({ part: `${strategy}.${part}`, reason })),
    );
    return { ...table, explanation: explain(problem, table, parts, "normalized", within) };
  }

  #part({ strategy, score: column, explanation }: ScoreTable, index: number): WeighedPart {
    const { weight } = this.strategies[index]!;
    const { channelsByRequests: channels, bytesPerRequest } = explanation.inputs;
    const remarks = (): string[] => explanation.remarks.map((said) => `by ${strategy}: ${said}`);
    const byRequests = bytesPerRequest === null ? null : { channels, bytesPerRequest, named: [] };
    return { name: strategy, weight, source: { column, remarks, byRequests }, scale: SCALE };
  }
}

const NONE: ReadonlyMap<string, string> = new Map();

function add(rejected: Map<string, string>, more: ReadonlyMap<string, string>): void {
  for (const [name, reason] of more) if (!rejected.has(name)) rejected.set(name, reason);
}

/** Copies columns to the caller's pool, because the strategies reuse theirs. */
function partsOf(tables: readonly ScoreTable[], pool: ColumnPool): Record<string, Float64Array | null> {
  const parts: Record<string, Float64Array | null> = {};
  for (const { strategy, parts: own } of tables) {
    for (const [part, column] of Object.entries(own)) {
      if (column === null) parts[`${strategy}.${part}`] = null;
      else {
        const copy = pool.take();
        copy.set(column);
        parts[`${strategy}.${part}`] = copy;
      }
    }
  }
  return parts;
}
