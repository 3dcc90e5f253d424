// Nothing may move without changes, on an idle and on a busy machine. The soak `quiet --model` runs 20 seeds.
import { describe, expect, test } from "vitest";
import { BUSY, QUIET } from "../harness/model/noise.ts";
import { ProposalFollower, quietRun } from "../harness/model/quiet.ts";

const MINUTES = 8;
const PATIENCE_MS = 600_000;

describe.each([
  ["a quiet machine", QUIET, [1]],
  ["a machine beside 20 busy processes", BUSY, [3]],
] as const)("on %s", (_, machine, seeds) => {
  test.each(seeds)(
    "no pod moves and no proposal is withdrawn, seed %i",
    async (seed) => {
      const found = await quietRun({ seed, minutes: MINUTES, machine });
      expect(found).toEqual({ replaced: [], withdrawn: [], worse: [] });
    },
    PATIENCE_MS,
  );
});

test("a proposal that goes again soon is withdrawn, one that stays for long or is empty is not", () => {
  const follower = new ProposalFollower();
  const proposal = (...nodes: string[]) => [
    { workflow: "default/sample", savedRatio: 0.1, pods: nodes.map((node) => ({ workload: "m1", node })) },
  ];
  follower.take(proposal(), 0);
  follower.take(proposal("a"), 10_000);
  follower.take(proposal("b"), 400_000);
  expect(follower.withdrawn).toEqual([]);
  follower.take(proposal(), 404_000);
  expect(follower.withdrawn).toEqual(["m1 -> b: gone after 4 s"]);
});
