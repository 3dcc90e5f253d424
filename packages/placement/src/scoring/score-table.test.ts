import * as fc from "fast-check";
import { expect, test } from "vitest";
import { allCandidates, bestRows, keptRows, rank, rankedTable, RANKED_ROWS } from "./score-table.ts";
import type { ScoreTable } from "./score-table.ts";

const rows = fc.array(
  fc.record({ score: fc.constantFrom(0, 0, 10, 50, 50.5, 100), infeasible: fc.boolean() }),
  { maxLength: 150 },
);

test("the ranking is that of a full sort: by score, then feasibility, then name", () => {
  fc.assert(
    fc.property(rows, (drawn) => {
      const names = drawn.map((_, row) => `n${(row * 7919) % 1_000}-${row}`);
      const score = Float64Array.from(drawn, (row) => (row.infeasible ? 0 : row.score));
      const infeasible = new Map(
        drawn.flatMap((row, index) => (row.infeasible ? [[names[index]!, "no"] as const] : [])),
      );
      const sorted = names
        .map((_, row) => row)
        .sort(
          (x, y) =>
            score[y]! - score[x]! ||
            Number(infeasible.has(names[x]!)) - Number(infeasible.has(names[y]!)) ||
            (names[x]! < names[y]! ? -1 : 1),
        );
      expect(rank({ names, score, infeasible })).toEqual(sorted.slice(0, RANKED_ROWS));
    }),
  );
});

const scores = fc.array(fc.oneof(fc.double({ min: 0, max: 100, noNaN: true }), fc.constantFrom(0, 50, 100)), {
  maxLength: 400,
});

function tableOf(drawn: readonly number[]): ScoreTable {
  const score = Float64Array.from(drawn);
  return {
    strategy: "s",
    mode: "m",
    names: drawn.map((_, row) => `n${(row * 7919) % 1_000}-${row}`),
    ids: Int32Array.from(drawn, (_, row) => row),
    raw: score,
    score,
    parts: {},
    infeasible: new Map(),
    explanation: {
      best: null,
      decidedBy: "none",
      neutral: [],
      inputs: {
        clusterVersion: 1,
        clusterAgeSeconds: 1,
        workflowVersion: 1,
        workflowAgeSeconds: 1,
        channelsByRequests: 0,
        bytesPerRequest: null,
      },
      remarks: [],
      sentences: [],
    },
  };
}

test("what is kept of a decision is small, and shows what the whole table would", () => {
  fc.assert(
    fc.property(scores, (drawn) => {
      const table = tableOf(drawn);
      const kept = keptRows(table);
      expect(kept.names.length).toBeLessThanOrEqual(64);
      expect(allCandidates(rankedTable(kept))).toEqual(allCandidates(rankedTable(table)));
    }),
  );
});

test("the two best rows are the first two of the ranking", () => {
  fc.assert(
    fc.property(scores, (drawn) => {
      const table = tableOf(drawn);
      const [best = -1, second = -1] = rank(table);
      expect(bestRows(table)).toEqual([best, second]);
    }),
  );
});
