import * as fc from "fast-check";
import { seededRandom } from "@isochrone/runtime";
import { describe, expect, it } from "vitest";
import { estimateChange, estimateMean } from "./bootstrap.ts";
import { holm } from "./holm.ts";
import { signedRank } from "./signed-rank.ts";

const numbers = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 40 });

describe("bootstrap", () => {
  it("covers the true mean in about 95 of 100 samples", () => {
    const random = seededRandom(7);
    let covered = 0;
    for (let sample = 0; sample < 200; sample += 1) {
      const values = Array.from({ length: 20 }, () => random.next());
      const { low, high } = estimateMean(values, random);
      if (low <= 0.5 && 0.5 <= high) covered += 1;
    }
    // The percentile interval of 20 values is slightly too narrow.
    expect(covered).toBeGreaterThan(175);
    expect(covered).toBeLessThanOrEqual(200);
  });

  it.each([
    [10, 0.86, 0.94],
    [3, 0.68, 0.82],
  ])("of %d values covers less than that, as the report says", (trials, least, most) => {
    const random = seededRandom(5);
    let covered = 0;
    for (let sample = 0; sample < 400; sample += 1) {
      // Nearly normal, around 6.
      const values = Array.from({ length: trials }, () =>
        Array.from({ length: 12 }, () => random.next()).reduce((sum, value) => sum + value),
      );
      const { low, high } = estimateMean(values, random);
      if (low <= 6 && 6 <= high) covered += 1;
    }
    expect(covered / 400).toBeGreaterThan(least);
    expect(covered / 400).toBeLessThan(most);
  });

  it("says how much less the mean is, and knows pairs: a constant ratio has no spread", () => {
    const baseline = [100, 200, 400, 800];
    const change = estimateChange(
      baseline.map((value) => value * 0.61),
      baseline,
      seededRandom(1),
    );
    expect(change.mean).toBeCloseTo(-0.39, 9);
    expect(change.high - change.low).toBeLessThan(1e-9);
  });

  it("is repeatable, and one trial has no spread", () => {
    expect(estimateMean([1, 2, 5], seededRandom(3))).toStrictEqual(estimateMean([1, 2, 5], seededRandom(3)));
    expect(estimateMean([4], seededRandom(1))).toStrictEqual({ mean: 4, low: 4, high: 4, n: 1 });
  });
});

describe("signed-rank test", () => {
  it("gives R's exact p of Darwin's maize plants", () => {
    // R: wilcox.test(d, exact = TRUE) of Fisher's example in eighths of an inch: V = 96, p = 0.04126
    const differences = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48];
    const test = signedRank(differences);
    expect(test.wPlus).toBe(96);
    expect(test.pTwoSided).toBeCloseTo(0.041_26, 5);
  });

  it("of five pairs in one direction is 1/32, of none is 1", () => {
    expect(signedRank([-1, -2, -3, -4, -5]).pLess).toBeCloseTo(1 / 32, 12);
    expect(signedRank([0, 0, 0]).pTwoSided).toBe(1);
  });

  it("agrees with going through all signs, ties included", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -4, max: 4 }), { maxLength: 9 }), (differences) => {
        const test = signedRank(differences);
        const [less, greater] = bruteForce(differences);
        expect(test.pLess).toBeCloseTo(less, 9);
        expect(test.pGreater).toBeCloseTo(greater, 9);
      }),
    );
  });

  it("changes sides with the signs", () => {
    fc.assert(
      fc.property(numbers, (differences) => {
        const test = signedRank(differences);
        const opposite = signedRank(differences.map((difference) => -difference));
        expect(opposite.pLess).toBeCloseTo(test.pGreater, 6);
      }),
    );
  });

  it("of many pairs goes over to the normal distribution without a step", () => {
    const random = seededRandom(11);
    const differences = Array.from({ length: 40 }, () => random.next() - 0.4);
    const exact = signedRank(differences);
    const more = signedRank([...differences, 1e-9]);
    expect(Math.abs(exact.pLess - more.pLess)).toBeLessThan(0.02);
  });
});

describe("Holm's correction", () => {
  it("gives R's figures", () => {
    // R: p.adjust(c(0.01, 0.02, 0.03, 0.005), "holm"), and of c(0.6, 0.04, 0.5)
    expect(holm([0.01, 0.02, 0.03, 0.005])).toStrictEqual([0.03, 0.04, 0.04, 0.02]);
    expect(holm([0.6, 0.04, 0.5])).toStrictEqual([1, 0.12, 1]);
    expect(holm([0.04])).toStrictEqual([0.04]);
    expect(holm([])).toStrictEqual([]);
  });

  it("keeps the order, makes none smaller and none larger than all tests together would", () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(share, { minLength: 1, maxLength: 30 }), (ps) => {
        const corrected = holm(ps);
        const inOrder = [...ps.keys()].sort((a, b) => ps[a]! - ps[b]!).map((index) => corrected[index]!);
        expect(inOrder).toStrictEqual(inOrder.toSorted((a, b) => a - b));
        for (const [index, p] of ps.entries()) {
          expect(corrected[index]).toBeGreaterThanOrEqual(p);
          expect(corrected[index]).toBeLessThanOrEqual(Math.min(1, p * ps.length));
        }
      }),
    );
  });
});

function bruteForce(differences: readonly number[]): readonly [number, number] {
  const found = differences.filter((difference) => difference !== 0);
  const sizes = found.map((difference) => Math.abs(difference));
  const rank = (size: number): number =>
    sizes.filter((other) => other < size).length + (sizes.filter((other) => other === size).length + 1) / 2;
  const sumOf = (isPlus: (index: number) => boolean): number =>
    sizes.reduce((sum, size, index) => sum + (isPlus(index) ? rank(size) : 0), 0);
  const observed = sumOf((index) => found[index]! > 0);
  let less = 0;
  let greater = 0;
  const ways = 2 ** found.length;
  for (let way = 0; way < ways; way += 1) {
    const sum = sumOf((index) => (way >> index) % 2 === 1);
    if (sum <= observed) less += 1 / ways;
    if (sum >= observed) greater += 1 / ways;
  }
  return [less, greater];
}
