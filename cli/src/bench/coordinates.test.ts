import type { RttMatrix } from "@isochrone/lab";
import { parseMatrix } from "@isochrone/lab/testing";
import { describe, expect, it } from "vitest";
import { drawSamples, judgeCoordinates } from "./coordinates.ts";

const line = (size: number): RttMatrix =>
  Array.from({ length: size }, (_, a) =>
    Array.from({ length: size }, (_, b) => (a === b ? null : 2 + 10 * Math.abs(a - b))),
  );

function ticking(): () => number {
  let ms = 0;
  return () => (ms += 10);
}

describe("the samples of a window", () => {
  it("are medians of each node's probes to its own peers", () => {
    const samples = drawSamples(line(30), { peers: 5, budget: 40, noise: 0, seed: 1 });
    const rows = Array.from(samples.source, (source, row) => ({
      source,
      target: samples.target[row]!,
      rttMs: samples.rttMs[row]!,
      count: samples.count[row]!,
    }));
    for (let node = 0; node < 30; node++) {
      const own = rows.filter(({ source }) => source === node);
      expect(own.length).toBeLessThanOrEqual(5);
      expect(new Set(own.map(({ target }) => target)).size).toBe(own.length);
      expect(own.reduce((sum, { count }) => sum + count, 0)).toBe(40);
      for (const { target, rttMs } of own) expect(rttMs).toBe(2 + 10 * Math.abs(node - target));
    }
  });

  it("scatter by the noise, and say so", () => {
    const samples = drawSamples(line(30), { peers: 3, budget: 300, noise: 0.2, seed: 1 });
    const spreads = Array.from(samples.spreadMs!, (spread, row) => spread / samples.rttMs[row]!);
    expect(spreads.reduce((sum, spread) => sum + spread, 0) / spreads.length).toBeCloseTo(0.2, 1);
    expect(Math.min(...Array.from(samples.rttMs))).toBeGreaterThan(0);
  });

  it("lack what the matrix lacks, and are the same for the same seed", () => {
    const matrix = parseMatrix("0 5 0\n5 0 -1\n7 8 0\n", "matrix");
    const draw = () => drawSamples(matrix, { peers: 10, budget: 50, noise: 0.1, seed: 7 });
    const pairs = Array.from(draw().source, (source, row) => [source, draw().target[row]]);
    expect(pairs).toEqual([[0, 1], [1, 0], expect.arrayContaining([2]), expect.arrayContaining([2])]);
    expect(draw()).toEqual(draw());
  });
});

describe("a judgement", () => {
  it("compares every measured ordered pair with the matrix", () => {
    const judgement = judgeCoordinates(line(40), { peers: 8, budget: 100, noise: 0, seed: 1 }, ticking());
    expect(judgement).toMatchObject({ nodes: 40, pairs: 40 * 39, pairsWithoutEstimate: 0, fitMs: 10 });
    expect(judgement.medianRelativeError).toBeLessThan(0.02);
    expect(judgement.p90RelativeError).toBeLessThan(0.1);
    expect(judgement.medianAbsoluteErrorMs).toBeLessThan(2);
    expect(judgement.intervalCoverage).toBeGreaterThan(0.8);
  });

  it("is exact where everything is measured without noise", () => {
    const judgement = judgeCoordinates(line(6), { peers: 5, budget: 200, noise: 0, seed: 1 }, ticking());
    expect(judgement.p90RelativeError).toBeLessThan(1e-9);
    expect(judgement.intervalCoverage).toBeNull();
  });

  it("counts a pair that nothing can be said of as wholly wrong", () => {
    // Two islands {0, 1} and {2, 3}; between them the matrix has values, but no probe succeeds both ways.
    const matrix = parseMatrix("0 5 9 0\n5 0 0 0\n0 0 0 5\n0 0 5 0\n", "matrix");
    const seed = [1, 2, 3, 4, 5, 6, 7, 8].find(
      (seed) => !reaches(drawSamples(matrix, { peers: 1, budget: 1, noise: 0, seed }), 0, 2),
    );
    const judgement = judgeCoordinates(matrix, { peers: 1, budget: 1, noise: 0, seed: seed! }, ticking());
    expect(judgement.pairsWithoutEstimate).toBeGreaterThan(0);
    // Four pairs without an error and one with an error of 1: rank 3.6 of 0 to 4.
    expect(judgement.pairs).toBe(5);
    expect(judgement.p90RelativeError).toBeCloseTo(0.6, 3);
  });

  function reaches(samples: ReturnType<typeof drawSamples>, from: number, to: number): boolean {
    return Array.from(samples.source).some((source, row) => source === from && samples.target[row] === to);
  }
});
