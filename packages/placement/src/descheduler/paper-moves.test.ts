import { expect, test } from "vitest";
import { createStrategy } from "../profile.ts";
import { handWorked } from "../testing/problems.ts";
import { paperMoves } from "./paper-moves.ts";

const strategy = createStrategy({ strategy: "resource-network", mode: "raw" });

test("evicts a pod for which any node has a higher score, one per Deployment and run", () => {
  const problem = handWorked();
  const { names, raw } = strategy.score(problem);
  const best = names[raw.indexOf(Math.max(...raw))]!;
  const worse = names.find((name) => name !== best)!;
  const pod = (uid: string, owner: string, node: string) => ({ uid, owner, node, problem });
  const moves = paperMoves(
    [pod("1", "p", best), pod("2", "p", worse), pod("3", "p", worse), pod("4", "q", worse)],
    strategy,
  );
  expect(moves.map(({ uid, from, to }) => [uid, from, to])).toEqual([
    ["2", worse, best],
    ["4", worse, best],
  ]);
  expect(moves[0]!.best).toBeGreaterThan(moves[0]!.score);
});
