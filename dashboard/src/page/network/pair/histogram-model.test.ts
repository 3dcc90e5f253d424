import { describe, expect, test } from "vitest";
import { apart, barsOf, logAxisOf, type MethodDistribution } from "./histogram-model.ts";

function distribution(times: Readonly<Record<number, number>>): MethodDistribution {
  const entries = Object.entries(times)
    .map(([ms, count]) => ({ ms: Number(ms), count }))
    .sort((a, b) => a.ms - b.ms);
  const bound = (index: number): number => 1000 * 2 ** (index / 64);
  return {
    method: "udp_rr",
    ipFamily: 4,
    count: entries.reduce((sum, { count }) => sum + count, 0),
    minMs: entries[0]?.ms ?? null,
    maxMs: entries.at(-1)?.ms ?? null,
    buckets: entries.map(({ ms, count }) => {
      const index = Math.ceil(Math.log2(ms / 1000) * 64) - 1;
      return { fromMs: bound(index), toMs: bound(index + 1), count };
    }),
  };
}

describe("a histogram", () => {
  test("has every answer in a bar that holds its time, and few bars however wide it is", () => {
    const wide = distribution({ 0.2: 5, 3: 90, 3.02: 5, 900: 100 });
    const axis = logAxisOf([wide]);
    const bars = barsOf(wide, axis);
    expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(200);
    expect(bars.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
    expect(bars.at(-1)).toMatchObject({ count: 100, share: 0.5 });
    for (const ms of [0.2, 3, 900])
      expect(bars.some(({ fromMs, toMs }) => fromMs <= ms * 1.012 && ms <= toMs * 1.012)).toBe(true);
    const even = distribution(
      Object.fromEntries(Array.from({ length: 700 }, (_, at) => [0.1 * 1.012 ** at, 1])),
    );
    expect(barsOf(even, logAxisOf([even])).length).toBeLessThanOrEqual(61);
  });

  test("has an axis around all values, never too narrow, with some round numbers on it", () => {
    const narrow = logAxisOf([distribution({ 20: 1, 20.4: 1 })]);
    expect(narrow.high / narrow.low).toBeCloseTo(2);
    expect(narrow.low < 20 && narrow.high > 20.4).toBe(true);
    expect(narrow.ticks.length).toBeGreaterThanOrEqual(3);
    const wide = logAxisOf([distribution({ 0.05: 1 }), distribution({ 4000: 1 })]);
    expect(wide.ticks).toEqual([0.1, 1, 10, 100, 1000]);
    expect(logAxisOf([]).ticks).toEqual([0.1, 1, 10, 100]);
  });

  test("shows an answer in no time at the low end", () => {
    const zero: MethodDistribution = {
      ...distribution({ 5: 1 }),
      count: 2,
      minMs: 0,
      buckets: [{ fromMs: 0, toMs: 0, count: 1 }, ...distribution({ 5: 1 }).buckets],
    };
    const bars = barsOf(zero, logAxisOf([zero]));
    expect(bars.map(({ count }) => count)).toEqual([1, 1]);
  });

  test("leaves out ticks whose figures would lie upon each other", () => {
    const toX = (tick: number): number => tick * 25;
    expect(apart([0, 1, 2, 3, 4, 5, 6], toX)).toEqual([0, 3, 6]);
    expect(apart([0, 10, 20], toX)).toEqual([0, 10, 20]);
  });
});
