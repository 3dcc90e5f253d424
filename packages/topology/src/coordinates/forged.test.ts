import { seeded } from "@isochrone/primitives";
import { describe, expect, it } from "vitest";
import { fitCoordinates } from "./index.ts";
import type { CoordinateInput, CoordinateModel } from "./index.ts";
import { grid, probed, regions } from "./testing/phantom.ts";

const SIZE = 20;
const FORGED = [Number.NaN, -1, 0, 5e-324, 1e-300, 1e-3, 60_000, 1e9, 1e300, Number.MAX_VALUE];
const COUNTS = [5e-324, 1, 1e15, 1e300];
const SPREADS = [Number.NaN, 0, 1, 1e300];

function forge(
  input: CoordinateInput,
  row: (row: number) => { readonly rttMs: number; readonly count: number; readonly spreadMs: number } | null,
): CoordinateInput {
  const { samples } = input;
  const forged = Array.from(samples.source, (_, at) => row(at));
  return {
    nodes: input.nodes,
    samples: {
      source: samples.source,
      target: samples.target,
      rttMs: forged.map((each, at) => each?.rttMs ?? samples.rttMs[at]!),
      count: forged.map((each, at) => each?.count ?? samples.count[at]!),
      spreadMs: forged.map((each) => each?.spreadMs ?? Number.NaN),
    },
  };
}

function numbersOf(model: CoordinateModel): number[] {
  const numbers = [model.quality.heldOutMedianRelativeError ?? 0, model.quality.heldOutP90RelativeError ?? 0];
  for (let a = 0; a < SIZE; a++) {
    numbers.push(...(model.coordinateOf(a) ?? []));
    for (let b = 0; b < SIZE; b++) numbers.push(...Object.values(model.estimate(a, b) ?? {}));
  }
  return numbers;
}

describe("forged round-trip times", () => {
  it.each([0.1, 0.5, 1])("give finite positions and bounds where %d of them are forged", (share) => {
    for (let seed = 1; seed <= 4; seed++) {
      const random = seeded(seed);
      const pick = (from: readonly number[]): number => from[Math.floor(random() * from.length)]!;
      const input = probed(regions(SIZE, seed, true), { peers: 10, count: 20, seed });
      const forged = forge(input, () =>
        random() < share ? { rttMs: pick(FORGED), count: pick(COUNTS), spreadMs: pick(SPREADS) } : null,
      );
      const cold = fitCoordinates(forged, { seed });
      const warm = fitCoordinates(input, { seed, previous: cold });
      for (const model of [cold, warm]) expect(numbersOf(model).every(Number.isFinite)).toBe(true);
    }
  });
});

describe("one liar among twenty nodes", () => {
  // docs/security.md quotes these bounds, for pairs of honest nodes.
  it.each<[string, (rttMs: number) => number]>([
    ["a microsecond", () => 1e-3],
    ["a minute", () => 60_000],
    ["ten times the truth", (rttMs) => 10 * rttMs],
    ["nothing", () => 0],
  ])("that claims %s changes measured pairs not at all, and 9 of 10 others by less than 25 %%", (_, lie) => {
    const changes: number[] = [];
    const measuredChanges: number[] = [];
    for (let seed = 1; seed <= 2; seed++) {
      const input = probed(grid(SIZE, 10), { peers: 10, count: 20, seed });
      const { source, target, rttMs } = input.samples;
      const claims = forge(input, (row) =>
        source[row] === 0 ? { rttMs: lie(rttMs[row]!), count: 1e15, spreadMs: 0 } : null,
      );
      const truth = fitCoordinates(input, { seed: 1 });
      const lied = fitCoordinates(claims, { seed: 1 });
      const measured = new Set(Array.from(source, (from, row) => `${from} ${target[row]}`));
      for (let a = 1; a < SIZE; a++) {
        for (let b = 1; b < SIZE; b++) {
          if (a === b) continue;
          const change = Math.abs(lied.estimate(a, b)!.rttMs / truth.estimate(a, b)!.rttMs - 1);
          (measured.has(`${a} ${b}`) ? measuredChanges : changes).push(change);
        }
      }
    }
    expect(Math.max(...measuredChanges)).toBeLessThan(0.01);
    changes.sort((x, y) => x - y);
    expect(changes[Math.floor(0.9 * changes.length)]).toBeLessThan(0.25);
  });
});
