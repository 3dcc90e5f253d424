import { describe, expect, test } from "vitest";
import { p95Of } from "./link-latency.ts";

function seededRandom(seed: number): { next(): number } {
  let state = seed;
  return {
    next: () => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return state / 2 ** 31;
    },
  };
}

describe("the p95 of a link", () => {
  test("lies between its p90 and p99, and beyond the p90 where there is no p99", () => {
    const random = seededRandom(3);
    for (let run = 0; run < 500; run++) {
      const p50 = random.next() * 100;
      const p90 = p50 + random.next() * 50;
      const p99 = p90 + random.next() * 200;
      expect(p95Of(p50, p90, p99)).toBeGreaterThanOrEqual(p90);
      expect(p95Of(p50, p90, p99)).toBeLessThanOrEqual(p99);
      expect(p95Of(p50, p90, Number.NaN)).toBeGreaterThanOrEqual(p90);
    }
  });

  test("is exact for an exponential distribution, and unknown without a p90", () => {
    const quantile = (q: number): number => 20 - 8 * Math.log(1 - q);
    const [p50, p90, p99] = [quantile(0.5), quantile(0.9), quantile(0.99)];
    expect(p95Of(p50, p90, p99)).toBeCloseTo(quantile(0.95), 9);
    expect(p95Of(p50, p90, Number.NaN)).toBeCloseTo(quantile(0.95), 9);
    expect(p95Of(p50, Number.NaN, Number.NaN)).toBeNaN();
  });
});
