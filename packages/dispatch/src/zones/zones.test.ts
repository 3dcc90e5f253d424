import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { percents } from "./distribute.ts";
import { hintedShares, zoneHints, type HintedEndpoint } from "./hints.ts";
import { nextWeights } from "./steps.ts";
import { evenWeights, zoneAdvice, type ZoneView, type ZoneWeights } from "./zone-weights.ts";

const ZONES = ["a", "b", "c"];

function view(more: Partial<ZoneView> = {}): ZoneView {
  return {
    zones: ZONES,
    demand: new Map([
      ["a", 100],
      ["b", 100],
      ["c", 100],
    ]),
    endpoints: new Map([
      ["a", 3],
      ["b", 3],
      ["c", 3],
    ]),
    capacityPerSecond: null,
    minLocalShare: 0.1,
    rttMs: (from, to) => (from === to ? 0.5 : from === "c" || to === "c" ? 40 : 10),
    ...more,
  };
}

function advice(more: Partial<ZoneView> = {}) {
  const found = zoneAdvice(view(more));
  if ("reason" in found) throw new Error(found.reason);
  return found;
}

const sumOf = (shares: ReadonlyMap<string, number>): number =>
  [...shares.values()].reduce((total, share) => total + share, 0);

const endpointsOf = (counts: Readonly<Record<string, number>>): HintedEndpoint[] =>
  Object.entries(counts).flatMap(([zone, count]) =>
    Array.from({ length: count }, (_, i) => ({ id: `10.0.${zone}.${i}`, zone })),
  );

describe("the weights of a Service", () => {
  test("keep even zones to themselves", () => {
    for (const zone of ZONES) expect(advice().weights.get(zone)!.get(zone)).toBeCloseTo(1, 9);
  });

  test("send what a hot zone can't serve to the nearest one that has room", () => {
    const demand = new Map([
      ["a", 240],
      ["b", 60],
      ["c", 60],
    ]);
    const { weights, loads } = advice({ demand });
    const a = weights.get("a")!;
    expect(a.get("a")! * 240).toBeCloseTo(150, 6);
    expect(a.get("b")! * 240).toBeCloseTo(90, 6);
    expect(a.get("c")).toBeCloseTo(0, 6);
    expect(loads.get("b")!.ofCapacity).toBeCloseTo(1, 6);
    expect(weights.get("b")!.get("b")).toBeCloseTo(1, 6);
  });

  test("keep all requests in the zone while a known capacity suffices", () => {
    const demand = new Map([["a", 240]]);
    expect(advice({ demand, capacityPerSecond: 100 }).weights.get("a")!.get("a")).toBeCloseTo(1, 9);
    expect(advice({ demand, capacityPerSecond: 10 }).abovePerSecond).toBeCloseTo(150, 6);
  });

  test("keep the least local share, though the zone has hardly an endpoint", () => {
    const endpoints = new Map([
      ["a", 1],
      ["b", 99],
    ]);
    const demand = new Map([["a", 300]]);
    expect(advice({ endpoints, demand, minLocalShare: 0.4 }).weights.get("a")!.get("a")).toBeCloseTo(0.4, 9);
  });

  test.each([
    ["zone_case", { demand: new Map([["A", 1]]) }],
    ["zone_case", { endpoints: new Map([["B", 1]]) }],
    ["no_endpoints", { endpoints: new Map([["a", 0]]) }],
    ["no_endpoints", { endpoints: new Map<string, number>() }],
    ["no_requests", { demand: new Map([["a", 0]]) }],
    ["no_requests", { demand: new Map<string, number>() }],
    ["no_zones", { zones: [] }],
  ] as const)("are none, with the reason %s", (reason, more) => {
    expect(zoneAdvice(view(more))).toMatchObject({ reason });
  });

  test("add up to 1 for each zone, whatever is asked of whom", () => {
    const counts = fc.record({ a: fc.nat(20), b: fc.nat(20), c: fc.nat(20) });
    const rates = fc.record({ a: fc.nat(1000), b: fc.nat(1000), c: fc.nat(1000) });
    fc.assert(
      fc.property(counts, rates, fc.double({ min: 0, max: 1, noNaN: true }), (of, asked, minLocalShare) => {
        const found = zoneAdvice(
          view({
            endpoints: new Map(Object.entries(of)),
            demand: new Map(Object.entries(asked)),
            minLocalShare,
          }),
        );
        if ("reason" in found) return;
        for (const [zone, shares] of found.weights) {
          expect(sumOf(shares)).toBeCloseTo(1, 6);
          expect(shares.get(zone) ?? 1).toBeGreaterThanOrEqual(minLocalShare - 1e-9);
        }
      }),
    );
  });
});

describe("steps", () => {
  const even = evenWeights(view());
  const wanted = advice().weights;

  test("move at most a tenth of a zone's requests at a time, and arrive", () => {
    let current = even;
    for (let step = 0; step < 7; step++) {
      const next = nextWeights(current, wanted);
      expect(next.changed).toBe(true);
      for (const zone of ZONES) {
        const moved = next.weights.get(zone)!.get(zone)! - current.get(zone)!.get(zone)!;
        expect(moved).toBeLessThanOrEqual(0.1 + 1e-9);
        expect(sumOf(next.weights.get(zone)!)).toBeCloseTo(1, 9);
      }
      current = next.weights;
    }
    expect(nextWeights(current, wanted).changed).toBe(false);
    expect(current.get("a")!.get("a")).toBeGreaterThan(0.95);
  });

  test("leave alone what is noise", () => {
    const noisy: ZoneWeights = new Map([
      [
        "a",
        new Map([
          ["a", 0.96],
          ["b", 0.04],
          ["c", 0],
        ]),
      ],
    ]);
    const settled = new Map([["a", wanted.get("a")!]]);
    expect(nextWeights(settled, noisy)).toEqual({ weights: settled, changed: false });
  });

  test("take requests off a zone without endpoints at once, and begin with a new zone as wanted", () => {
    const target = new Map([["b", 1]]);
    const next = nextWeights(
      even,
      new Map([
        ["a", target],
        ["new", target],
      ]),
    );
    expect(next).toEqual({
      changed: true,
      weights: new Map([
        ["a", target],
        ["new", target],
      ]),
    });
  });
});

describe("hints", () => {
  const demand = new Map([
    ["a", 240],
    ["b", 60],
    ["c", 60],
  ]);

  test("say every endpoint's own zone, and of the nearest zone as many as the share needs", () => {
    const endpoints = endpointsOf({ a: 10, b: 10, c: 10 });
    const { weights } = advice({
      demand,
      endpoints: new Map([
        ["a", 10],
        ["b", 10],
        ["c", 10],
      ]),
    });
    const hints = zoneHints({ weights, demand }, endpoints)!;
    const shares = hintedShares(ZONES, endpoints, hints);
    expect(shares.get("a")!.get("a")).toBeCloseTo(weights.get("a")!.get("a")!, 1);
    expect(shares.get("a")!.get("b")).toBeCloseTo(weights.get("a")!.get("b")!, 1);
    expect(shares.get("a")!.has("c")).toBe(false);
    expect([...shares.get("b")!.keys()]).toEqual(["b"]);
  });

  test("give endpoints that serve others less of their own zone", () => {
    const endpoints = endpointsOf({ a: 4, b: 4 });
    const weights: ZoneWeights = new Map([
      [
        "a",
        new Map([
          ["a", 0.8],
          ["b", 0.2],
        ]),
      ],
      ["b", new Map([["b", 1]])],
    ]);
    const hints = zoneHints(
      {
        weights,
        demand: new Map([
          ["a", 100],
          ["b", 60],
        ]),
      },
      endpoints,
    )!;
    expect([...hints.values()].filter((zones) => zones.join() === "a")).toHaveLength(5);
    expect([...hints.values()].filter((zones) => zones.join() === "b")).toHaveLength(3);
  });

  test("let a zone without endpoints ask the nearest one", () => {
    const endpoints = endpointsOf({ a: 3, b: 3 });
    const weights: ZoneWeights = new Map([
      ["a", new Map([["a", 1]])],
      [
        "c",
        new Map([
          ["a", 0],
          ["b", 1],
        ]),
      ],
    ]);
    const shares = hintedShares(["c"], endpoints, zoneHints({ weights, demand }, endpoints)!);
    expect([...shares.get("c")!.keys()]).toEqual(["b"]);
  });

  test("are none for nine zones", () => {
    const zones = Array.from({ length: 9 }, (_, i) => `z${i}`);
    const endpoints = endpointsOf(Object.fromEntries(zones.map((zone) => [zone, 1])));
    expect(zoneHints({ weights: new Map(), demand }, endpoints)).toBeNull();
    expect(zoneHints({ weights: new Map(), demand }, endpoints.slice(1))).not.toBeNull();
  });

  test("give every endpoint one to eight zones, depend on no order, and let every zone ask somebody", () => {
    const zone = fc.constantFrom("a", "b", "c", "d", "e");
    const shares = fc.dictionary(zone, fc.double({ min: 0, max: 1, noNaN: true }));
    fc.assert(
      fc.property(
        fc.array(zone, { minLength: 1, maxLength: 60 }),
        fc.dictionary(zone, shares),
        (zones, weights) => {
          const endpoints = zones.map((each, i) => ({ id: `10.0.0.${i}`, zone: each }));
          const plan = {
            weights: new Map(
              Object.entries(weights).map(([from, to]) => [from, new Map(Object.entries(to))]),
            ),
            demand,
          };
          const hints = zoneHints(plan, endpoints)!;
          expect(hints.size).toBe(endpoints.length);
          for (const each of hints.values()) expect(each.length).toBeGreaterThan(0);
          expect(zoneHints(plan, endpoints.toReversed())).toEqual(hints);
          const hinted = new Set([...hints.values()].flat());
          for (const each of zones) expect(hinted.has(each)).toBe(true);
        },
      ),
    );
  });

  test("change little when one endpoint is replaced", () => {
    const endpoints = endpointsOf({ a: 30, b: 30, c: 30 });
    const { weights } = advice({ demand, endpoints: new Map(ZONES.map((each) => [each, 30])) });
    const before = zoneHints({ weights, demand }, endpoints)!;
    const after = zoneHints({ weights, demand }, [...endpoints.slice(1), { id: "new", zone: "a" }])!;
    const changed = [...before].filter(([id, zones]) => after.get(id)?.join() !== zones.join());
    expect(changed.length).toBeLessThanOrEqual(3);
  });
});

describe("percents", () => {
  test("are whole and add up to 100, without zones that get nothing", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.double({ min: 1e-6, max: 1, noNaN: true }), { minKeys: 1 }),
        (shares) => {
          const [found] = percents(new Map([["a", new Map(Object.entries(shares))]])).values();
          expect(sumOf(found!)).toBe(100);
          for (const percent of found!.values()) expect(percent).toBeGreaterThan(0);
        },
      ),
    );
    const thirds = new Map(ZONES.map((zone) => [zone, 1 / 3]));
    const found = [
      ...percents(new Map([["a", thirds]]))
        .get("a")!
        .values(),
    ];
    expect(found.toSorted((a, b) => a - b)).toEqual([33, 33, 34]);
  });
});
