import { expect, test } from "vitest";
import { CommitHorizon } from "./commit-horizon.ts";

test("without counters everything that is done is committed", () => {
  const horizon = new CommitHorizon(0);
  horizon.note(4, 1000);
  expect(horizon.offset(5, 1000)).toBe(5);
});

test("of counters as much stays as was appended within the horizon, and never less", () => {
  const horizon = new CommitHorizon(60_000);
  for (let offset = 0; offset < 1000; offset++) horizon.note(offset, offset * 100);
  const committed = horizon.offset(1000, 99_900)!;
  // What was appended at 39,900 or later: from offset 399 on.
  expect(committed).toBeLessThanOrEqual(399);
  expect(committed).toBeGreaterThan(380);
  expect(horizon.offset(200, 99_900)).toBe(200);
});

test("nothing is committed before the horizon has passed once, and all of it when nothing comes any more", () => {
  const horizon = new CommitHorizon(60_000);
  horizon.note(7, 100_000);
  horizon.note(8, 100_100);
  expect(horizon.offset(9, 130_000)).toBeNull();
  expect(horizon.offset(9, 170_000)).toBe(9);
  expect(horizon.offset(8, 170_000)).toBe(8);
});
