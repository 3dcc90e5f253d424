import { expect, test } from "vitest";
import { deadlineOf } from "./dispatch-annotations.ts";

test.each([
  ["250ms", 250],
  ["1.5s", 1500],
  ["1ms", 1],
  ["10s", 10_000],
  ["10001ms", null],
  ["0.5ms", null],
  ["0s", null],
  ["-5ms", null],
  ["NaNms", null],
  ["1e3ms", null],
  ["9".repeat(400) + "s", null],
  ["250", null],
  ["1m", null],
  ["", null],
])("the deadline %j is %s ms", (text, ms) => {
  expect(deadlineOf({ "isochrone.dev/deadline": text })).toBe(ms);
});

test("without the annotation there is no deadline", () => {
  expect(deadlineOf(undefined)).toBeNull();
  expect(deadlineOf({})).toBeNull();
});
