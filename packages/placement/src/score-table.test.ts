import * as fc from "fast-check";
import { expect, test } from "vitest";
import { rank, RANKED_ROWS } from "./score-table.ts";

const rows = fc.array(
  fc.record({ score: fc.constantFrom(0, 0, 10, 50, 50.5, 100), infeasible: fc.boolean() }),
  { maxLength: 150 },
);

test("the ranking is that of a full sort: by score, then feasibility, then name", () => {
  fc.assert(
    fc.property(rows, (drawn) => {
      // Infeasible rows have score 0, and names are in no order.
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
