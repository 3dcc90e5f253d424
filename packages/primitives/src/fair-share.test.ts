import { array, assert, double, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { fairLevel } from "./fair-share.ts";

const amount = (): ReturnType<typeof double> => double({ min: 0, max: 1e15, noNaN: true });

describe("a max-min fair level", () => {
  test("is the equal share of what small demands leave", () => {
    expect(fairLevel([1, 10, 10], 9)).toBe(4);
    expect(fairLevel([1, 2, 3], 6)).toBe(Infinity);
    expect(fairLevel([], 0)).toBe(Infinity);
    expect(fairLevel([5, 5], 0)).toBe(0);
  });

  test("shares out all, and not more: a demand that is cut has at least an equal share", () => {
    assert(
      property(array(amount(), { minLength: 1, maxLength: 30 }), amount(), (demands, total) => {
        const level = fairLevel(demands, total);
        const sum = demands.reduce((all, demand) => all + Math.min(demand, level), 0);
        const wanted = demands.reduce((all, demand) => all + demand, 0);
        const slack = 1e-9 * (1 + total + wanted);
        expect(Math.abs(sum - Math.min(total, wanted))).toBeLessThanOrEqual(slack);
        expect(level).toBeGreaterThanOrEqual(total / demands.length - slack);
      }),
    );
  });
});
