import { array, assert, integer, property, string, tuple } from "fast-check";
import { expect, test } from "vitest";
import { allSteps, inTurns, sortedSteps } from "./steps.ts";

test("sorting in steps is stable, and gives what sorting at once gives", () => {
  const lists = array(tuple(integer({ min: 0, max: 9 }), string()), { maxLength: 12_000 });
  assert(
    property(lists, (items) => {
      const compare = (a: readonly [number, string], b: readonly [number, string]): number => a[0] - b[0];
      expect(allSteps(sortedSteps(items, compare))).toEqual(items.toSorted(compare));
    }),
    { numRuns: 20, examples: [[[]], [Array.from({ length: 20_000 }, (_, at) => [at % 7, `${at}`])]] },
  );
});

test("others have a turn after each step, where the caller says so", async () => {
  const turns: string[] = [];
  function* steps(): Generator<void, number> {
    turns.push("first");
    yield;
    turns.push("second");
    yield;
    return 3;
  }
  const waits = [async () => void turns.push("others"), null];
  expect(await inTurns(steps(), () => waits.shift()?.() ?? null)).toBe(3);
  expect(turns).toEqual(["first", "others", "second"]);
});
