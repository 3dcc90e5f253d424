import { array, assert, double, property, record } from "fast-check";
import { describe, expect, it } from "vitest";
import { capacityPerSecond, weightsOf, type SiteWeights, type WeightsInput } from "./weights.ts";

const target = (site: string, capacity: number) => ({ site, capacityPerSecond: capacity });
const rates = (of: Readonly<Record<string, number>>): ReadonlyMap<string, number> =>
  new Map(Object.entries(of));

function rows(input: WeightsInput): Record<string, Pick<SiteWeights, "shares" | "cloud">> {
  return Object.fromEntries(
    weightsOf(input).sites.map(({ site, shares, cloud }) => [
      site,
      { shares: shares.map((share) => Math.round(share * 1e6) / 1e6), cloud },
    ]),
  );
}

describe("weights", () => {
  it("keep requests in their site while it has room", () => {
    const { sites, headroomPerSecond } = weightsOf({
      demand: rates({ a: 3, b: 5 }),
      targets: [target("a", 10), target("b", 10)],
    });
    expect(sites).toEqual([
      { site: "a", shares: [1, 0], cloud: 0, local: 1, abovePerSecond: 0 },
      { site: "b", shares: [0, 1], cloud: 0, local: 1, abovePerSecond: 0 },
    ]);
    expect(headroomPerSecond).toEqual([7, 5]);
  });

  it("spill what a site can't serve in proportion to what others have left", () => {
    const input = {
      demand: rates({ hot: 16, b: 4, c: 1 }),
      targets: [target("hot", 10), target("b", 6), target("c", 5)],
    };
    expect(rows(input)["hot"]).toEqual({ shares: [0.625, 0.125, 0.25], cloud: 0 });
    expect(rows(input)["b"]).toEqual({ shares: [0, 1, 0], cloud: 0 });
  });

  it("spill to the nearest site with room, and further when that is full", () => {
    const rttSeconds = (_from: string, to: string): number => ({ near: 0.002, far: 0.03 })[to] ?? 0.01;
    const targets = [target("hot", 10), target("near", 4), target("far", 10)];
    const of = (hot: number) => rows({ demand: rates({ hot }), targets, rttSeconds })["hot"]!.shares;
    expect(of(12)).toEqual([0.833333, 0.166667, 0]);
    expect(of(20)).toEqual([0.5, 0.2, 0.3]);
  });

  it("take sites as equally near where round trips are unknown", () => {
    const input = { demand: rates({ a: 4 }), targets: [target("b", 2), target("c", 6)] };
    expect(rows({ ...input, rttSeconds: () => null })["a"]!.shares).toEqual([0.25, 0.75]);
  });

  it("share what is left by need, whatever the order of sites", () => {
    const targets = [target("free", 6)];
    for (const demand of [rates({ a: 8, b: 4 }), rates({ b: 4, a: 8 })]) {
      const { sites } = weightsOf({ demand, targets, cloud: rates({ a: 10, b: 10 }) });
      for (const { cloud } of sites) expect(cloud).toBeCloseTo(0.5, 9);
    }
  });

  it("use the cloud last, up to what the uplink carries, and spread the rest over all capacity", () => {
    const { sites } = weightsOf({
      demand: rates({ a: 20 }),
      targets: [target("a", 5), target("b", 5)],
      cloud: rates({ a: 4 }),
    });
    expect(sites[0]).toMatchObject({ cloud: 0.2, shares: [0.4, 0.4], abovePerSecond: 6 });
  });

  it("begin near for a site without requests", () => {
    const targets = [target("a", 5), target("b", 5), target("c", 0)];
    expect(rows({ demand: rates({ a: 0, c: 0 }), targets })).toEqual({
      a: { shares: [1, 0, 0], cloud: 0 },
      c: { shares: [0.5, 0.5, 0], cloud: 0 },
    });
  });

  it("are all 0 where nothing has capacity", () => {
    expect(rows({ demand: rates({ a: 3 }), targets: [target("a", 0)] })).toEqual({
      a: { shares: [0], cloud: 0 },
    });
    expect(rows({ demand: rates({ a: 3 }), targets: [] })).toEqual({ a: { shares: [], cloud: 0 } });
  });

  it.each([
    [{ demand: rates({ a: Number.NaN }), targets: [] }, "rate of a must be a number from 0, got NaN"],
    [{ demand: rates({ a: -1 }), targets: [] }, "rate of a must be a number from 0, got -1"],
    [
      { demand: rates({}), targets: [target("b", Number.POSITIVE_INFINITY)] },
      "capacity of b must be a number from 0, got Infinity",
    ],
    [
      { demand: rates({}), targets: [], cloud: rates({ c: -2 }) },
      "rate of c must be a number from 0, got -2",
    ],
  ] as const)("refuse wrong numbers: %#", (input, message) => {
    expect(() => weightsOf(input)).toThrow(message);
  });

  it("add up to 1, overload nothing that others could take, and overfill no target below capacity", () => {
    const amount = double({ min: 0.01, max: 100, noNaN: true });
    const sites = array(record({ demand: amount, capacity: amount }), { minLength: 1, maxLength: 6 });
    assert(
      property(sites, (drawn) => {
        const targets = drawn.map(({ capacity }, at) => target(`s${at}`, capacity));
        const demand = new Map(drawn.map((one, at) => [`s${at}`, one.demand]));
        const { sites: found } = weightsOf({ demand, targets });
        const load = targets.map(() => 0);
        for (const { site, shares, cloud } of found) {
          expect(shares.reduce((sum, share) => sum + share, cloud)).toBeCloseTo(1, 9);
          for (const [at, share] of shares.entries()) load[at]! += share * demand.get(site)!;
        }
        const total = (of: Iterable<number>): number => [...of].reduce((sum, one) => sum + one, 0);
        const above = Math.max(
          0,
          total(demand.values()) - total(targets.map((one) => one.capacityPerSecond)),
        );
        expect(total(found.map(({ abovePerSecond }) => abovePerSecond))).toBeCloseTo(above, 5);
        for (const [at, one] of targets.entries())
          expect(load[at]!).toBeLessThan(one.capacityPerSecond + above + 1e-5);
      }),
    );
  });
});

describe("the capacity of an endpoint", () => {
  it("grows faster than its slots, and is in proportion to speed", () => {
    // One slot meets the target at no useful load, so the minimum of 30 % applies.
    expect(capacityPerSecond(1, 0.1)).toBeCloseTo(3, 9);
    expect(capacityPerSecond(8, 0.1) / 8).toBeGreaterThan(capacityPerSecond(2, 0.1) / 2);
    expect(capacityPerSecond(4, 0.05)).toBeCloseTo(2 * capacityPerSecond(4, 0.1), 6);
    expect(capacityPerSecond(0, 0.1)).toBe(0);
  });

  it("refuses wrong slots and times", () => {
    expect(() => capacityPerSecond(-1, 0.1)).toThrow("slots of an endpoint must be a number from 0, got -1");
    expect(() => capacityPerSecond(1, Number.NaN)).toThrow("workSeconds must be a number above 0, got NaN");
  });
});
