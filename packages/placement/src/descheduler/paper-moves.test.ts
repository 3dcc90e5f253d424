import { expect, test } from "vitest";
import { createStrategy } from "../profile.ts";
import { handWorked } from "../testing/problems.ts";
import { paperMove } from "./paper-moves.ts";

const strategy = createStrategy({ strategy: "resource-network", mode: "raw" });

test("evicts a pod for which any node has a higher score than its own", () => {
  const problem = handWorked();
  const { names, raw } = strategy.score(problem);
  const best = names[raw.indexOf(Math.max(...raw))]!;
  expect(paperMove(problem, best, strategy)).toBeNull();
  for (const node of names.filter((name) => name !== best)) {
    const move = paperMove(problem, node, strategy)!;
    expect([move.from.node, move.to.node]).toEqual([node, best]);
    expect(move.to.raw).toBeGreaterThan(move.from.raw);
  }
});

test("leaves alone a pod whose node can't be scored", () => {
  const problem = handWorked();
  const strange = { ...problem, candidates: [...problem.candidates, "stranger"] };
  expect(paperMove(strange, "stranger", strategy)).toBeNull();
  const blind = { ...problem, cluster: { graph: null, reason: "none was read" } as const };
  for (const node of problem.candidates) expect(paperMove(blind, node, strategy)).toBeNull();
});
