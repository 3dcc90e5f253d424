import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Filling, type Load } from "./filling.ts";

const load = (bits: Readonly<Record<number, number>>, most = Infinity, least = 0): Load => ({
  links: Int32Array.from(Object.keys(bits), Number),
  bits: Float64Array.from(Object.values(bits)),
  most,
  least,
});
const fill = (capacities: readonly number[], loads: readonly Load[]): number[] => [
  ...new Filling(Float64Array.from(capacities)).pacesOf(loads),
];

describe("Filling", () => {
  test("raises all paces alike until a link is full, then those that don't use it", () => {
    expect(fill([10, 30], [load({ 0: 1 }), load({ 0: 1, 1: 1 }), load({ 1: 1 })])).toEqual([5, 5, 25]);
  });

  test("a job that sends more per frame takes more of the link at the same pace", () => {
    expect(fill([12], [load({ 0: 1 }), load({ 0: 3 })])).toEqual([3, 3]);
  });

  test("gives a job no more than it can compute, and others what it leaves", () => {
    expect(fill([10], [load({ 0: 1 }, 2), load({ 0: 1 })])).toEqual([2, 8]);
  });

  test("a job without flows runs as fast as it computes", () => {
    expect(fill([10], [load({}, 7)])).toEqual([7]);
  });

  test("keeps promises before it shares the rest", () => {
    expect(fill([10], [load({ 0: 1 }, Infinity, 7), load({ 0: 1 })])).toEqual([7, 3]);
    expect(fill([10], [load({ 0: 1 }, Infinity, 2), load({ 0: 1 })])).toEqual([5, 5]);
  });

  test("lowers promises that don't fit by one factor", () => {
    expect(fill([9], [load({ 0: 1 }, Infinity, 6), load({ 0: 1 }, Infinity, 12), load({ 0: 1 })])).toEqual([
      3, 6, 0,
    ]);
  });

  test("is max-min fair: every job is at its most, or on a full link on which nobody goes faster above a promise", () => {
    const link = fc.integer({ min: 0, max: 4 });
    const loads = fc.array(
      fc
        .record({
          bits: fc.dictionary(link.map(String), fc.integer({ min: 1, max: 9 }), { maxKeys: 4 }),
          most: fc.integer({ min: 1, max: 50 }),
          least: fc.integer({ min: 0, max: 2 }),
        })
        .map(({ bits, most, least }) => load(bits, most, Math.min(least, most))),
      { minLength: 1, maxLength: 8 },
    );
    const capacities = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 5, maxLength: 5 });
    fc.assert(
      fc.property(capacities, loads, (limits, jobs) => {
        const paces = fill(limits, jobs);
        const used = limits.map((_, at) =>
          jobs.reduce((sum, job, index) => sum + bitsOn(job, at) * paces[index]!, 0),
        );
        for (const [at, bits] of used.entries()) expect(bits).toBeLessThanOrEqual(limits[at]! * (1 + 1e-6));
        for (const [index, job] of jobs.entries()) {
          if (paces[index]! >= job.most * (1 - 1e-6)) continue;
          const isJust = [...job.links].some(
            (at) =>
              used[at]! >= limits[at]! * (1 - 1e-6) &&
              jobs.every(
                (other, each) =>
                  bitsOn(other, at) === 0 ||
                  paces[each]! <= Math.max(paces[index]!, other.least) * (1 + 1e-6) + 1e-9,
              ),
          );
          expect(isJust).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });
});

function bitsOn({ links, bits }: Load, link: number): number {
  const at = links.indexOf(link);
  return at === -1 ? 0 : bits[at]!;
}
