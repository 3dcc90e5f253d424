import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Filling } from "./filling.ts";
import type { Load } from "./namespace-shares.ts";

const load = (bits: Readonly<Record<number, number>>, most = Infinity, least = 0, namespace = ""): Load => ({
  links: Int32Array.from(Object.keys(bits), Number),
  bits: Float64Array.from(Object.values(bits)),
  most,
  least,
  namespace,
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

describe("namespaces on a link", () => {
  const of = (namespace: string, most = Infinity, bits = 1, least = 0): Load =>
    load({ 0: bits }, most, least, namespace);

  test("share it, however many jobs one has and however large its frames are", () => {
    expect(fill([12], [of("a"), of("a"), of("a"), of("b")])).toEqual([2, 2, 2, 6]);
    expect(fill([10], [of("a", Infinity, 100), of("b")])).toEqual([0.05, 5]);
  });

  test("leave what they can't use to the others", () => {
    expect(fill([12], [of("a"), of("a"), of("b", 2)])).toEqual([5, 5, 2]);
  });

  test("one that is alone has all of it, for promises too", () => {
    expect(fill([10, 10], [load({ 0: 1 }, 9, 9, "a"), load({ 1: 1 }, 20, 0, "b")])).toEqual([9, 10]);
  });

  test("are promised half of it at most where others want it, and keep that whoever comes", () => {
    expect(fill([10], [of("a", 20, 1, 9), of("b", 20)])).toEqual([7.5, 2.5]);
    const others = Array.from({ length: 10 }, (_, at) => of(`o${at}`, 20));
    expect(fill([10], [of("a", 20, 1, 4), ...others])[0]).toBeGreaterThanOrEqual(4);
  });

  test("are promised four fifths of it together", () => {
    const paces = fill([10], [of("a", 5, 1, 5), of("b", 5, 1, 5), of("c", 5, 1, 5), of("d")]);
    expect(Math.min(...paces)).toBeGreaterThanOrEqual(0.5);
    expect(Math.min(...paces.slice(0, 3))).toBeGreaterThanOrEqual(8 / 3);
  });

  const anyLoad = fc
    .record({
      bits: fc.dictionary(fc.constantFrom("0", "1", "2"), fc.integer({ min: 1, max: 9 }), { minKeys: 1 }),
      most: fc.integer({ min: 1, max: 50 }),
      least: fc.integer({ min: 0, max: 20 }),
      namespace: fc.constantFrom("a", "b", "c"),
    })
    .map(({ bits, most, least, namespace }) => load(bits, most, Math.min(least, most), namespace));

  test("fit the links, leave no room unused, and no namespace is pushed below its share", () => {
    const capacities = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(capacities, fc.array(anyLoad, { minLength: 1, maxLength: 12 }), (limits, jobs) => {
        const paces = fill(limits, jobs);
        const usedOf = (link: number, namespace: string | null): number =>
          jobs.reduce(
            (sum, job, at) =>
              sum + (namespace === null || job.namespace === namespace ? bitsOn(job, link) * paces[at]! : 0),
            0,
          );
        const isFull = limits.map((limit, link) => usedOf(link, null) > limit * (1 - 1e-6));
        for (const [link, limit] of limits.entries())
          expect(usedOf(link, null)).toBeLessThanOrEqual(limit * (1 + 1e-6));
        for (const [at, job] of jobs.entries())
          expect(paces[at]! >= job.most * (1 - 1e-6) || [...job.links].some((link) => isFull[link])).toBe(
            true,
          );
        // On one link each namespace gets its demand, or its share of what promises leave.
        if (jobs.some(({ links }) => links.length > 1)) return;
        for (const [link, limit] of limits.entries()) {
          const here = jobs.filter((job) => bitsOn(job, link) > 0);
          const names = new Set(here.map(({ namespace }) => namespace));
          for (const name of names) {
            const wanted = here
              .filter(({ namespace }) => namespace === name)
              .reduce((sum, job) => sum + bitsOn(job, link) * job.most, 0);
            expect(usedOf(link, name)).toBeGreaterThanOrEqual(
              Math.min(wanted, (limit * 0.2) / names.size) * (1 - 1e-6),
            );
          }
        }
      }),
    );
  });
});
