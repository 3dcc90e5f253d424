import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ConnectedLoads } from "./connected.ts";
import { Filling } from "./filling.ts";
import type { Load } from "./namespace-shares.ts";

const LINKS = 8;

const load: fc.Arbitrary<Load> = fc
  .record({
    bits: fc.dictionary(fc.integer({ min: 0, max: LINKS - 1 }).map(String), fc.integer({ min: 1, max: 9 }), {
      maxKeys: 2,
    }),
    most: fc.integer({ min: 1, max: 50 }),
    least: fc.constantFrom(0, 0, 0.1),
    namespace: fc.constantFrom("a", "b"),
  })
  .map(({ bits, most, least, namespace }) => ({
    links: Int32Array.from(Object.keys(bits), Number),
    bits: Float64Array.from(Object.values(bits)),
    most,
    least,
    namespace,
  }));

test("filling what is connected to a change gives the paces that filling all gives", () => {
  const capacities = fc.array(fc.integer({ min: 20, max: 100 }), { minLength: LINKS, maxLength: LINKS });
  const loads = fc.array(load, { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(capacities, loads, load, fc.nat(), (limits, before, other, which) => {
      const filling = new Filling(Float64Array.from(limits));
      const paces = filling.pacesOf(before);
      const connected = new ConnectedLoads(before, LINKS);
      expectClose(
        connected.withAdded(other, paces, filling),
        new Filling(Float64Array.from(limits)).pacesOf([...before, other]),
      );
      const at = which % before.length;
      expectClose(
        connected.withReplaced(at, other, paces, filling),
        new Filling(Float64Array.from(limits)).pacesOf(before.with(at, other)),
      );
    }),
    { numRuns: 500 },
  );
});

function expectClose(paces: Float64Array, wanted: Float64Array): void {
  expect(paces.length).toBe(wanted.length);
  for (const [at, pace] of paces.entries()) expect(pace).toBeCloseTo(wanted[at]!, 6);
}
