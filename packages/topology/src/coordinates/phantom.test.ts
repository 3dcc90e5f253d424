// Synthetic networks as in serf's coordinate/performance_test.go. The accuracy is a tested contract.
import { describe, expect, it } from "vitest";
import { fitCoordinates } from "./index.ts";
import { circle, evaluate, grid, line, probed, regions, scattered, split } from "./testing/phantom.ts";
import type { Phantom } from "./testing/phantom.ts";

const SIZE = 64;

describe("pairs that nobody measured", () => {
  it.each<[string, Phantom, { median: number; p90: number }]>([
    ["a line", line(SIZE, 10), { median: 0.01, p90: 0.06 }],
    ["a grid", grid(SIZE, 10), { median: 0.012, p90: 0.06 }],
    ["two halves", split(SIZE, 1, 10), { median: 0.01, p90: 0.05 }],
    ["a circle around a node", circle(SIZE, 100), { median: 0.01, p90: 0.06 }],
    // No geometry: the mean is the best guess, and E|x - mean| of a normal distribution is 0.8 deviations.
    ["noise", scattered(SIZE, 100, 10, 1), { median: 0.08, p90: 0.2 }],
    ["regions and zones", regions(120, 1, false), { median: 0.055, p90: 0.18 }],
  ])("are known for %s from 10 peers of each node", (_, phantom, ceiling) => {
    const input = probed(phantom, { peers: 10, count: 20, seed: 1 });
    const errors = evaluate(phantom, fitCoordinates(input, { seed: 1 }), input);
    expect(errors.median).toBeLessThan(ceiling.median);
    expect(errors.p90).toBeLessThan(ceiling.p90);
  });

  it("are known better with zone labels when peers are few", () => {
    const errorOf = (labels: boolean): number => {
      const phantom = regions(120, 2, labels);
      const input = probed(phantom, { peers: 4, count: 20, seed: 1 });
      return evaluate(phantom, fitCoordinates(input, { seed: 1 }), input).p90;
    };
    expect(errorOf(true)).toBeLessThan(0.5 * errorOf(false));
  });

  it("follow a network that drifts, warm round by warm round", () => {
    // Half of the nodes move by 2 ms per round: distances change by half in 25 rounds.
    const at = (round: number): Phantom => {
      const start = grid(SIZE, 10);
      const moved = (node: number): number => (node < SIZE / 2 ? 2 * round : 0);
      return {
        nodes: start.nodes,
        rttMs: (a, b) => start.rttMs(a, b) + Math.abs(moved(a) - moved(b)),
      };
    };
    let model = fitCoordinates(probed(at(0), { peers: 10, count: 20, seed: 0 }), { seed: 1 });
    for (let round = 1; round <= 25; round++) {
      const input = probed(at(round), { peers: 10, count: 20, seed: round });
      model = fitCoordinates(input, { seed: 1, previous: model });
    }
    const phantom = at(25);
    const input = probed(phantom, { peers: 10, count: 20, seed: 25 });
    const cold = evaluate(phantom, fitCoordinates(input, { seed: 1 }), input);
    const warm = evaluate(phantom, model, input);
    expect(warm.median).toBeLessThan(0.02);
    expect(warm.median).toBeLessThan(1.5 * cold.median + 0.005);
  });
});

describe("error bars", () => {
  it.each([
    [0, 1],
    [0, 2],
    [0.2, 3],
    [0.2, 4],
  ])("hold 90 % of the true values with noise %d", (noise, seed) => {
    const phantom = regions(150, seed, false);
    const input = probed(phantom, { peers: 10, count: 20, noise, seed });
    const { coverage } = evaluate(phantom, fitCoordinates(input, { seed: 1 }), input);
    expect(coverage).toBeGreaterThan(0.86);
    expect(coverage).toBeLessThan(0.94);
  });

  it("hold measured pairs too, and are the narrower the more replies there are", () => {
    const phantom = regions(60, 1, false);
    const widthOf = (count: number): number => {
      const input = probed(phantom, { peers: 10, count, noise: 0.2, seed: 1 });
      const model = fitCoordinates(input, { seed: 1 });
      const { source, target } = input.samples;
      let width = 0;
      let inside = 0;
      for (let row = 0; row < source.length; row++) {
        const { rttMs, errorMs, lowMs, highMs } = model.estimate(source[row]!, target[row]!)!;
        const truth = phantom.rttMs(source[row]!, target[row]!);
        if (truth >= lowMs && truth <= highMs) inside++;
        width += errorMs / rttMs / source.length;
      }
      expect(inside / source.length).toBeGreaterThan(0.84);
      return width;
    };
    expect(widthOf(40)).toBeLessThan(0.7 * widthOf(4));
  });
});

describe("a measured pair", () => {
  const phantom = regions(40, 1, false);

  it("is answered as measured when its replies agree", () => {
    const input = probed(phantom, { peers: 6, count: 20, seed: 1 });
    const model = fitCoordinates(input, { seed: 1 });
    const { source, target, rttMs } = input.samples;
    for (let row = 0; row < source.length; row++)
      expect(model.estimate(source[row]!, target[row]!)!.rttMs).toBeCloseTo(rttMs[row]!, 6);
  });

  it("is drawn to the fit when its replies are few and scattered", () => {
    const input = probed(phantom, { peers: 10, count: 3, noise: 0.3, seed: 1 });
    const model = fitCoordinates(input, { seed: 1 });
    const { source, target, rttMs } = input.samples;
    const errors = { measured: 0, blended: 0 };
    for (let row = 0; row < source.length; row++) {
      const truth = phantom.rttMs(source[row]!, target[row]!);
      errors.measured += Math.abs(Math.log(rttMs[row]! / truth));
      errors.blended += Math.abs(Math.log(model.estimate(source[row]!, target[row]!)!.rttMs / truth));
    }
    expect(errors.blended).toBeLessThan(0.8 * errors.measured);
  });
});
