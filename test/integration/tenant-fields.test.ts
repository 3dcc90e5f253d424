// Tests each row of the table "Fields that tenants write" in docs/security.md on the real reader.
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { declarationTrials } from "../harness/tenant-fields/declarations.ts";
import { dispatchedTrials } from "../harness/tenant-fields/dispatched.ts";
import { floorTrials } from "../harness/tenant-fields/floors.ts";
import { graphApiTrials } from "../harness/tenant-fields/graph-api.ts";
import { objectTrials } from "../harness/tenant-fields/objects.ts";
import { pageTrials } from "../harness/tenant-fields/pages.ts";
import { podTrials } from "../harness/tenant-fields/pods.ts";
import { streamJobTrials } from "../harness/tenant-fields/stream-jobs.ts";
import { fieldLines, type Outcome, type Trial, type Trials } from "../harness/tenant-fields/trial.ts";

const lines = fieldLines(readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8"));
const TIMES = 100;
const MIB = 1024 ** 2;
/** Garbage of servers and of the test, in addition to the limit. */
const SPARE_BYTES = 32 * MIB;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes that a reader keeps for an amount, without the object itself, which its cache holds anyway. */
async function keptBytes(trial: Trial, amount: number): Promise<{ bytes: number; outcome: Outcome }> {
  const before = bytesInUse();
  const outcome = await trial(amount);
  const all = bytesInUse();
  if (outcome.input === undefined) return { bytes: all - before, outcome };
  outcome.kept = undefined;
  return { bytes: all - bytesInUse(), outcome };
}

function bytesInUse(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe("a field that tenants write:", () => {
  const parts: Trials[] = [];
  const trials = new Map<string, Trial>();

  beforeAll(async () => {
    parts.push(
      declarationTrials(),
      floorTrials(),
      podTrials(),
      objectTrials(),
      pageTrials(),
      streamJobTrials(),
    );
    parts.push(await dispatchedTrials(), await graphApiTrials());
    for (const part of parts)
      for (const [field, trial] of Object.entries(part.trials)) trials.set(field, trial);
  });

  afterAll(async () => {
    for (const part of parts) await part.stop?.();
  });

  test("each is in the table once", () => {
    expect(lines.map(({ field }) => field).toSorted()).toEqual([...trials.keys()].toSorted());
  });

  test.each(lines.map((line) => [line.field, line] as const))("%s", async (field, { bound, beyond }) => {
    const trial = trials.get(field)!;
    const usual = await keptBytes(trial, bound);
    expect(usual.outcome).toMatchObject({ isCut: false });
    expect(await trial(bound + 1)).toMatchObject({ isCut: true });

    const huge = await keptBytes(trial, TIMES * bound);
    expect(huge.outcome).toMatchObject({ isCut: true });
    expect(huge.bytes).toBeLessThan(Math.max(0, usual.bytes) + SPARE_BYTES);
    expect(huge.outcome.named !== null || beyond.includes("without a word")).toBe(true);
    // The reader keeps serving.
    expect(await trial(bound)).toMatchObject({ isCut: false });
  });
});
