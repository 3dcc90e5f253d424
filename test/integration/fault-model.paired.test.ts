// Pods move once, to the announced node. The soak `faults --model` makes 40 runs.
import { expect, test } from "vitest";
import { faultRun, MODEL_FAULTS } from "../harness/model/fault-run.ts";
import { QUIET } from "../harness/model/noise.ts";

const PATIENCE_MS = 600_000;

test.each([1])(
  "faults of the network are followed by moves that land and pay, seed %i",
  async (seed) => {
    const { reports, failedPerMove, failedPerRolled } = await faultRun({
      seed,
      machine: QUIET,
      faults: MODEL_FAULTS,
    });
    console.log(JSON.stringify({ reports, failedPerMove, failedPerRolled }));
    expect(
      reports.flatMap(({ fault, mistakes }) => mistakes.map((mistake) => `${fault}: ${mistake}`)),
    ).toEqual([]);
    // Each fault affects pods, so a run without a move would prove nothing.
    expect(reports.reduce((sum, { moved }) => sum + moved, 0)).toBeGreaterThan(0);
    expect(failedPerMove).not.toBeNull();
    expect(failedPerMove!).toBeLessThanOrEqual(failedPerRolled!);
  },
  PATIENCE_MS,
);
