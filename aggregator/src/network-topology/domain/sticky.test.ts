import { describe, expect, test } from "vitest";
import { stickyBandwidth, stickyCost } from "./sticky.ts";

describe("network costs", () => {
  test("are rounded up to whole units and stay between 1 and 99", () => {
    const costs = [0, 0.2, 1, 1.01, 20, 98.2, 99.5, 4000].map((ms) => stickyCost(null, ms, 1));
    expect(costs).toEqual([1, 1, 1, 2, 20, 99, 99, 99]);
  });

  test("count in the unit that is asked for, without the error of binary fractions", () => {
    expect(stickyCost(null, 0.7, 0.1)).toBe(7);
    expect(stickyCost(null, 250, 10)).toBe(25);
  });

  test("stay as written under jitter, and follow what is more than that", () => {
    expect([18, 19.2, 20.1, 21.9].map((ms) => stickyCost(20, ms, 1))).toEqual([20, 20, 20, 20]);
    expect([16.9, 22.1, 60].map((ms) => stickyCost(20, ms, 1))).toEqual([17, 23, 60]);
    expect(stickyCost(1, 1.4, 1)).toBe(1);
    expect(stickyCost(1, 1.6, 1)).toBe(2);
  });

  test("never stay at a value that upstream gives another meaning", () => {
    expect(stickyCost(0, 0.5, 1)).toBe(1);
    expect(stickyCost(100, 99.8, 1)).toBe(99);
  });
});

describe("bandwidth", () => {
  test("is rounded down to whole Mbit/s, but never to nothing", () => {
    expect(stickyBandwidth(null, 949_999_999, 0.1)).toBe(949_000_000);
    expect(stickyBandwidth(null, 400_000.9, 0.1)).toBe(400_000);
  });

  test("stays as written within the tolerance", () => {
    expect(stickyBandwidth(950_000_000, 1_040_000_000, 0.1)).toBe(950_000_000);
    expect(stickyBandwidth(950_000_000, 1_050_000_000, 0.1)).toBe(1_050_000_000);
  });
});
