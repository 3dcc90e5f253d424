import { expect, test } from "vitest";
import { onTick, tickMsOf } from "./ticks.ts";

test("flows of ordinary intervals wake the thread together, those of short ones at their own times", () => {
  expect([1000, 500, 499, 10].map(tickMsOf)).toEqual([100, 100, 0, 0]);
  expect([0, 1, 99.9, 100, 100.1].map((ms) => onTick(ms, 1000))).toEqual([0, 100, 100, 100, 200]);
  expect(onTick(50.1, 100)).toBe(50.1);
});
