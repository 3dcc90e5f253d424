import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { zoneAdvice } from "./advice.ts";

const ZONES = ["a", "b", "c"];
const cases = fc.record({
  endpoints: fc.array(
    fc.record({
      name: fc.constant("e"),
      zone: fc.constantFrom(...ZONES),
      capacityMillicores: fc.double({ min: 50, max: 4_000, noNaN: true }),
    }),
    { minLength: 1, maxLength: 12 },
  ),
  demand: fc
    .uniqueArray(
      fc.record({
        zone: fc.constantFrom(...ZONES, null),
        bytesPerSecond: fc.constantFrom(1, 2),
        requestsPerSecond: fc.double({ min: 0.1, max: 1e3, noNaN: true }),
      }),
      { selector: ({ zone }) => zone, minLength: 1 },
    )
    .map((zones) => ({ zones, unknownCallers: [] })),
  cpuMillicores: fc.double({ min: 1, max: 4_000, noNaN: true }),
});
const inputOf = (given: typeof cases extends fc.Arbitrary<infer T> ? T : never) => ({
  ...given,
  maxCpuUse: 0.75,
  roundTripMs: (from: string, to: string) => (from === to ? 0.3 : 2),
});

describe("the advice, whatever the Service", () => {
  it("moves CPU between endpoints, and loses none of it", () => {
    fc.assert(
      fc.property(cases, (given) => {
        const { zones } = zoneAdvice(inputOf(given));
        const unplaced = given.demand.zones.find(({ zone }) => zone === null)?.requestsPerSecond ?? 0;
        const whole = given.demand.zones.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
        const used = given.cpuMillicores * given.endpoints.length;
        const caused = zones.reduce((sum, { causedMillicores }) => sum + causedMillicores!, 0);
        expect(caused + (used * unplaced) / whole).toBeCloseTo(used, 6);
      }),
    );
  });

  it("is safe only when no endpoint is above the bound, with callers of unknown zone wherever they are", () => {
    fc.assert(
      fc.property(cases, fc.constantFrom(...ZONES), (given, home) => {
        const { verdict } = zoneAdvice(inputOf(given));
        if (verdict !== "safe" && verdict !== "slower") return;
        const placed = new Map<string, number>();
        for (const { zone, requestsPerSecond } of given.demand.zones)
          placed.set(zone ?? home, (placed.get(zone ?? home) ?? 0) + requestsPerSecond);
        const zones = Array.from(placed, ([zone, requestsPerSecond]) => ({
          zone,
          requestsPerSecond,
          bytesPerSecond: 1 as const,
        }));
        const known = zoneAdvice(inputOf({ ...given, demand: { zones, unknownCallers: [] } }));
        for (const { loadThen } of known.zones) expect(loadThen ?? 0).toBeLessThanOrEqual(0.75 + 1e-9);
      }),
    );
  });
});
