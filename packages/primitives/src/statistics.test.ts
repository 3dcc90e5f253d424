import { array, assert, double, property } from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  ascending,
  median,
  nearestRank,
  percentileLack,
  quantile,
  quantileOfSorted,
  samplesForPercentile,
  upperMedian,
} from "./statistics.ts";

const numbers = array(double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 40 });

describe("quantile", () => {
  it.each([
    // R: quantile(c(1, 3, 4, 10), c(0, .5, .95, 1))
    [0, 1],
    [0.5, 3.5],
    [0.95, 9.1],
    [1, 10],
  ])("of 1, 3, 4, 10 at %d is R's %d", (share, expected) => {
    expect(quantileOfSorted(ascending([10, 3, 1, 4]), share)).toBeCloseTo(expected, 9);
  });

  it("lies within the values and grows with the share", () => {
    assert(
      property(numbers, double({ min: 0, max: 1, noNaN: true }), (values, share) => {
        const sorted = ascending(values);
        const value = quantileOfSorted(sorted, share);
        expect(value).toBeGreaterThanOrEqual(sorted[0]!);
        expect(value).toBeLessThanOrEqual(sorted.at(-1)!);
        expect(quantileOfSorted(sorted, share / 2)).toBeLessThanOrEqual(value);
      }),
    );
  });

  it("of nothing is no number, and a share beyond 1 is refused", () => {
    expect(quantileOfSorted(new Float64Array(), 0.5)).toBeNaN();
    expect(() => quantileOfSorted(ascending([1]), 95)).toThrow("a quantile must be from 0 to 1, got 95");
  });
});

describe("median", () => {
  it("is the middle value, or the mean of the two middle ones; the values stay in their order", () => {
    const values = [9, 1, 4];
    expect(median(values)).toBe(4);
    expect(values).toEqual([9, 1, 4]);
    expect(median(new Set([4, 1, 9, 2]))).toBe(3);
  });

  it("is null without values, as is every quantile", () => {
    expect([median([]), quantile([], 0.9)]).toEqual([null, null]);
    expect(quantile([10, 0], 0.25)).toBe(2.5);
  });
});

describe("a value that was there", () => {
  it("is the upper of two middle values, in any order of them", () => {
    expect(upperMedian([9, 1, 4, 2])).toBe(4);
    expect(upperMedian(Float64Array.of(9, 1, 4))).toBe(4);
    expect(upperMedian([])).toBeNull();
  });

  it("is at the nearest rank", () => {
    const sorted = ascending([10, 30, 20, 40]);
    expect([0, 0.25, 0.26, 0.5, 0.99, 1].map((share) => nearestRank(sorted, share))).toEqual([
      10, 10, 20, 20, 40, 40,
    ]);
    expect(nearestRank(ascending([]), 0.5)).toBeNull();
  });
});

test.each([
  [0.5, 1],
  [0.9, 20],
  [0.95, 20],
  [0.99, 100],
  [0.999, 100],
])("quantile %d is shown from %d samples on", (share, least) => {
  expect(samplesForPercentile(share)).toBe(least);
  expect(percentileLack(share, least)).toBeNull();
  expect(percentileLack(share, least - 1)).toContain(`from ${least} requests on; there`);
});
