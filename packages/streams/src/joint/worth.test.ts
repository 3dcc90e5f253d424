import { expect, test } from "vitest";
import { worthOf } from "./worth.ts";

const worth = (paces: readonly number[], least: readonly number[]): number =>
  worthOf(
    Float64Array.from(paces),
    least.map((each) => ({ least: each })),
  );

test("without promises a slow job that gains outweighs a fast one that loses as much", () => {
  expect(worth([1, 3], [0, 0])).toBeGreaterThan(worth([0.5, 3.5], [0, 0]));
});

test("of jobs with a promise only the sum of their throughput counts", () => {
  expect(worth([1, 3], [0.5, 0.5])).toBe(worth([0.5, 3.5], [0.5, 0.5]));
  expect(worth([1, 3], [0.5, 0.5])).toBe(4);
});

test("a job that stands has a worth", () => {
  expect(worth([0], [0])).toBeGreaterThan(-Infinity);
});
