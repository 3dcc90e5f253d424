import { expect, test } from "vitest";
import { testSolver } from "../testing/solver.ts";
import { solveFigure2 } from "./figure-2.ts";

test.each([
  ["the whole job on e1 makes 2 frames a second", "whole", 2],
  ["partitioned, with equal shares, 2.5", "equalShares", 2.5],
  ["with shares in proportion to volumes 10/3", "proportional", 10 / 3],
  ["with routes of their own 4", "ownRoutes", 4],
  ["which is the proven optimum", "optimum", 4],
] as const)("ENTS, Figure 2: %s", async (_, step, framesPerSecond) => {
  const figure = await solveFigure2(await testSolver());
  expect(figure[step]).toBeCloseTo(framesPerSecond, step === "optimum" ? 4 : 6);
});
