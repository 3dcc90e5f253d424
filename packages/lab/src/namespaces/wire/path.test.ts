import { seededRandom } from "@isochrone/runtime";
import { expect, test } from "vitest";
import { NetworkError } from "../../network/errors.ts";
import { NamespaceError } from "../errors.ts";
import { NOT_ADMITTED, WirePath } from "./path.ts";
import { applyPathChange, IDEAL_PATH, type PathChange } from "./settings.ts";

const path = (change: PathChange, seed = 1): WirePath =>
  new WirePath(applyPathChange("path", IDEAL_PATH, change), seededRandom(seed));

function share(count: number, holds: (i: number) => boolean): number {
  return Array.from({ length: count }, (_, i) => holds(i)).filter(Boolean).length / count;
}

function deviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}

test("uniform jitter is at most what it says, up and down", () => {
  const way = path({ delayMs: 20, jitterMs: 4 });
  const delays = Array.from({ length: 5000 }, () => way.admit(100, 100) - 100);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(16);
  expect(Math.max(...delays)).toBeLessThanOrEqual(24);
  expect(deviation(delays)).toBeCloseTo(4 / Math.sqrt(3), 1);
});

test("normal jitter has the standard deviation that it says, and an end", () => {
  const way = path({ delayMs: 50, jitterMs: 4, jitterDistribution: "normal" });
  const delays = Array.from({ length: 20_000 }, () => way.admit(100, 0));
  expect(deviation(delays)).toBeCloseTo(4, 0);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(34);
  expect(Math.max(...delays)).toBeLessThanOrEqual(66);
  expect(share(delays.length, (i) => Math.abs(delays[i]! - 50) < 4)).toBeCloseTo(0.683, 1);
});

test("a delay is never negative", () => {
  const way = path({ delayMs: 1, jitterMs: 50 });
  expect(Math.min(...Array.from({ length: 500 }, () => way.admit(100, 7)))).toBe(7);
});

test("the same seed gives the same fate, another one another", () => {
  const fates = (seed: number): number[] => {
    const way = path({ delayMs: 5, jitterMs: 1, lossRatio: 0.3 }, seed);
    return Array.from({ length: 50 }, () => way.admit(100, 0));
  };
  expect(fates(4)).toEqual(fates(4));
  expect(fates(4)).not.toEqual(fates(5));
});

test.each([
  [0.05, null, 1 / 0.95],
  [0.05, 1, 1],
  [0.1, 8, 8],
])("a loss of %d comes in bursts of %d", (lossRatio, lossBurstPackets, meanBurst) => {
  const way = path({ lossRatio, lossBurstPackets }, 3);
  const lost = Array.from({ length: 200_000 }, () => way.admit(100, 0) === NOT_ADMITTED.lost);
  const bursts = lost.filter((value, i) => value && lost[i - 1] !== true).length;
  const count = lost.filter(Boolean).length;
  expect(count / lost.length).toBeCloseTo(lossRatio, 2);
  expect(count / bursts / meanBurst).toBeGreaterThan(0.93);
  expect(count / bursts / meanBurst).toBeLessThan(1.07);
});

test("frames wait for each other on the wire, and no longer than it is busy", () => {
  const way = path({ bandwidthBitsPerSecond: 8000 });
  expect([way.admit(10, 0), way.admit(5, 0), way.admit(5, 100)]).toEqual([10, 15, 105]);
});

test("a bucket lets its bytes pass at once, then the rate rules, and fills up again", () => {
  const way = path({ bandwidthBitsPerSecond: 8000, burstBytes: 20 });
  const burst = Array.from({ length: 4 }, () => way.admit(10, 0));
  expect(burst).toEqual([0, 0, 10, 20]);
  expect([way.admit(10, 1000), way.admit(10, 1000), way.admit(10, 1000)]).toEqual([1000, 1000, 1010]);
});

test("what waits for the rate is bounded, and the wire is not held up by what was refused", () => {
  const way = path({ bandwidthBitsPerSecond: 8000, queueBytes: 20 });
  const times = Array.from({ length: 4 }, () => way.admit(10, 0));
  expect(times).toEqual([10, 20, NOT_ADMITTED.queueFull, NOT_ADMITTED.queueFull]);
  expect(way.admit(10, 15)).toBe(30);
  const longer = path({ bandwidthBitsPerSecond: 8e6 });
  expect(share(200, () => longer.admit(1000, 0) >= 0)).toBe(100 / 200);
});

test("what is held back comes later, the others keep their order", () => {
  const way = path({ delayMs: 10, reorderRatio: 0.2, reorderDelayMs: 5 }, 9);
  const delays = Array.from({ length: 5000 }, (_, i) => Math.round(way.admit(100, i) - i));
  expect(share(5000, (i) => delays[i] === 15)).toBeCloseTo(0.2, 1);
  expect(new Set(delays)).toEqual(new Set([10, 15]));
});

test("kept order: nothing comes before what entered earlier, until the path changes", () => {
  const way = path({ delayMs: 20, jitterMs: 10, keepOrder: true });
  const times = Array.from({ length: 1000 }, (_, i) => way.admit(100, i));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  way.change({ ...way.settings, delayMs: 0, jitterMs: 0 }, 1000);
  expect(way.admit(100, 1000)).toBe(1000);
});

test("duplicates and corruption have their shares, a cut lets nothing pass", () => {
  const way = path({ duplicateRatio: 0.25, corruptRatio: 0.1 }, 2);
  const fates = Array.from({ length: 20_000 }, () => {
    way.admit(100, 0);
    return [way.duplicated, way.corrupted];
  });
  expect(share(fates.length, (i) => fates[i]![0]!)).toBeCloseTo(0.25, 1);
  expect(share(fates.length, (i) => fates[i]![1]!)).toBeCloseTo(0.1, 1);
  way.change({ ...way.settings, cut: true }, 0);
  expect(way.admit(100, 0)).toBe(NOT_ADMITTED.cut);
});

test.each<[Record<string, unknown>, string]>([
  [{ delayMs: -1 }, "path: delayMs must be a number of ms from 0 to 60000, got -1"],
  [{ duplicateRatio: 1.5 }, "path: duplicateRatio must be a number from 0 to 1, got 1.5"],
  [{ jitterDistribution: "even" }, 'path: jitterDistribution must be "uniform" or "normal", got "even"'],
  [{ rttMs: 5 }, 'path has no setting "rttMs"'],
  [
    { lossRatio: 0.9, lossBurstPackets: 2 },
    "path: lossRatio with bursts of 2 packets must be at most 0.6666666666666666, got 0.9",
  ],
])("refuses %o", (change, message) => {
  expect(() => applyPathChange("path", IDEAL_PATH, change)).toThrow(
    new NamespaceError("invalid_argument", message),
  );
});

test("what the relay's links have too is judged by their rules", () => {
  const message = "path: lossRatio must be a number from 0 to 1, got 2";
  const error = new NetworkError("invalid_argument", message);
  expect(() => applyPathChange("path", IDEAL_PATH, { lossRatio: 2 })).toThrow(error);
  expect(applyPathChange("path", IDEAL_PATH, { lossRatio: undefined, cut: true })).toEqual({
    ...IDEAL_PATH,
    cut: true,
  });
});
