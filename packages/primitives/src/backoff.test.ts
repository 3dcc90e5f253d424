import { expect, test } from "vitest";
import { backoffMs } from "./backoff.ts";

const growth = { initialMs: 100, maxMs: 1000, factor: 2 };

test("delays grow by the factor up to the maximum", () => {
  expect([1, 2, 3, 4, 5, 6].map((failures) => backoffMs(growth, failures))).toEqual([
    100, 200, 400, 800, 1000, 1000,
  ]);
});

test("a delay is finite after any number of failures", () => {
  expect(backoffMs(growth, 1_000_000)).toBe(1000);
  expect(backoffMs({ ...growth, maxMs: Infinity }, 1_000_000)).toBeLessThan(Infinity);
});
