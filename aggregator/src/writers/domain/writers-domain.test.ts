import { describe, expect, test } from "vitest";
import { seededRandom } from "@isochrone/runtime";
import { clusterNode, linkOf, snapshotOf } from "../../testing/snapshots.ts";
import { urgency } from "./due.ts";
import { extentMs, motionOnto, movementMs } from "./frame.ts";
import { hasNetperfChanged, netperfEntries } from "./netperf.ts";
import { WriteBudget } from "./write-budget.ts";

const RULE = { refreshMs: 600_000, minIntervalMs: 30_000 };
const NOW_MS = 1_700_000_000_000;
const urgent = (ageMs: number | null, change: number): number | null =>
  urgency({ name: "a", observedAtMs: ageMs === null ? null : NOW_MS - ageMs, change }, RULE, NOW_MS);

describe("when annotations are written", () => {
  test("is never for jitter, and for a change not before the interval has passed", () => {
    expect(urgent(100_000, 0.99)).toBeNull();
    expect(urgent(29_000, 5)).toBeNull();
    expect(urgent(31_000, 1)).not.toBeNull();
  });

  test("falls due for every object between 91 and 96 % of the refresh interval, and is spread over that", () => {
    const due = Array.from({ length: 1000 }, (_, index) => {
      let ageMs = 500_000;
      while (urgency({ name: `n${index}`, observedAtMs: NOW_MS, change: 0 }, RULE, NOW_MS + ageMs) === null)
        ageMs += 1000;
      return ageMs;
    });
    expect(Math.min(...due)).toBeGreaterThanOrEqual(545_000);
    expect(Math.max(...due)).toBeLessThanOrEqual(577_000);
    expect(new Set(due).size).toBeGreaterThan(20);
  });

  test("is first what has none, then what is due by age, then what has changed by how much and how long", () => {
    const order = [
      urgent(null, 0),
      urgent(900_000, 0),
      urgent(600_000, 50),
      urgent(60_000, 9),
      urgent(60_000, 2),
    ];
    expect(order).toEqual(order.toSorted((a, b) => b! - a!));
    expect(urgent(300_000, 2)).toBeGreaterThan(urgent(60_000, 2)!);
  });

  test("takes a time far ahead for none at all", () => {
    expect(urgent(-3_600_000, 0)).toBe(urgent(null, 0));
    expect(urgent(-10_000, 0)).toBeNull();
  });
});

test("a budget allows its rate over any time, and three seconds' worth after a pause", () => {
  const budget = new WriteBudget();
  let taken = 0;
  for (let nowMs = 0; nowMs <= 60_000; nowMs += 1000) while (budget.take(nowMs, 10 / 3)) taken++;
  expect(taken).toBeGreaterThanOrEqual(199);
  expect(taken).toBeLessThanOrEqual(205);
  let burst = 0;
  while (budget.take(10_000_000, 10 / 3)) burst++;
  expect(burst).toBe(11);
});

describe("a frame of coordinates", () => {
  const random = seededRandom(5);
  const places = new Map(
    Array.from({ length: 40 }, (_, index) => [
      `n${index}`,
      [random.next() * 90, random.next() * 30, random.next() * 5, random.next(), 1 + random.next()],
    ]),
  );
  const turned = ([x, y, z, w, h]: number[]): number[] => [
    40 - y!,
    x! * 0.6 + z! * 0.8,
    x! * 0.8 - z! * 0.6,
    w! + 7,
    h!,
  ];

  test("is found again after any turn, reflection and shift", () => {
    const own = new Map([...places].map(([name, place]) => [name, turned(place)]));
    const motion = motionOnto(places, own)!;
    for (const [name, place] of own) expect(movementMs(motion(place), places.get(name)!)).toBeLessThan(1e-4);
  });

  test("leaves distances and heights as they are, even where the frame is of other measurements", () => {
    const shaken = new Map(
      [...places].map(([name, place]) => [name, place.map((ms) => ms + 5 * random.next())]),
    );
    const motion = motionOnto(shaken, places)!;
    const [a, b] = [places.get("n1")!, places.get("n2")!];
    const between = (p: readonly number[], q: readonly number[]): number =>
      Math.hypot(...p.slice(0, 4).map((x, axis) => x - q[axis]!));
    expect(between(motion(a), motion(b))).toBeCloseTo(between(a, b), 6);
    expect(motion(a)[4]).toBe(a[4]);
  });

  test("is found where all nodes lie on a line", () => {
    const line = new Map(Array.from({ length: 9 }, (_, index) => [`n${index}`, [index * 10, 0, 0, 0, 1]]));
    const own = new Map([...line].map(([name, place]) => [name, turned(place)]));
    const motion = motionOnto(line, own)!;
    for (const [name, place] of own) expect(movementMs(motion(place), line.get(name)!)).toBeLessThan(1e-4);
  });

  test("is none with too few nodes in common, or another number of dimensions", () => {
    expect(motionOnto(new Map([...places].slice(0, 5)), places)).toBeNull();
    expect(
      motionOnto(new Map([...places].map(([name, place]) => [name, place.slice(1)])), places),
    ).toBeNull();
    expect(motionOnto(new Map(), new Map())).toBeNull();
    expect(extentMs([])).toBe(0);
  });
});

describe("KEP-260's entries", () => {
  const rtt = (
    p90: number | null,
  ): { rttMs: { p50: number; p90: number | null; p99: null; mean: number; count: number } } => ({
    rttMs: { p50: 1, p90, p99: null, mean: 1, count: 30 },
  });
  const key = (from: string, to: string): string =>
    `netperf.p90.latency.milliseconds.origin.${from}.destination.${to}`;

  test("are of the preferred method that has a 90th percentile, fresh, between nodes of the cluster", () => {
    const graph = {
      ...snapshotOf(
        ["a", "b"].map((name) => clusterNode(name)),
        [
          linkOf("a", "b", 1, { method: "icmp", ...rtt(90) }),
          linkOf("a", "b", 1, { method: "udp_rr", ...rtt(null) }),
          linkOf("a", "b", 1, { method: "tcp_rr", ...rtt(20.2) }),
          linkOf("b", "a", 1, { method: "udp_rr", ...rtt(7), ageSeconds: 1000 }),
          linkOf("a", "gone", 1, { method: "udp_rr", ...rtt(7) }),
        ],
      ),
      costMethods: ["udp_rr" as const, "tcp_rr" as const, "icmp" as const],
    };
    expect([...netperfEntries(graph).data]).toEqual([[key("a", "b"), "21"]]);
  });

  test("leave out pairs whose names make no key, and count them", () => {
    const [long, other] = ["x".repeat(120), "y".repeat(120)] as const;
    const graph = snapshotOf([clusterNode(long), clusterNode(other)], [linkOf(long, other, 1, rtt(3))]);
    expect(netperfEntries(graph)).toEqual({ data: new Map(), lost: new Set(), unnamed: 1 });
  });

  test("have changed when one is new or differs by more than a millisecond and a tenth", () => {
    const wanted = { data: new Map([[key("a", "b"), "100"]]), lost: new Set<string>() };
    expect(hasNetperfChanged({ [key("a", "b")]: "109" }, wanted)).toBe(false);
    expect(hasNetperfChanged({ [key("a", "b")]: "80" }, wanted)).toBe(true);
    expect(hasNetperfChanged({}, wanted)).toBe(true);
    expect(hasNetperfChanged({ [key("a", "b")]: "far" }, wanted)).toBe(true);
  });

  test("have changed when a pair that one is of is cut, by all methods that are probed", () => {
    const none = { p50: null, p90: null, p99: null, mean: null, count: 0 };
    const cut = { lossRatio: 1, costMs: null, rttMs: none };
    const of = (...links: readonly ReturnType<typeof linkOf>[]) =>
      netperfEntries(
        snapshotOf(
          ["a", "b"].map((name) => clusterNode(name)),
          [linkOf("b", "a", 1, rtt(7)), ...links],
        ),
      );
    const stored = { [key("a", "b")]: "90", [key("b", "a")]: "7" };
    const udp = linkOf("a", "b", 1, { method: "udp_rr", ...cut });
    expect(hasNetperfChanged(stored, of(udp))).toBe(true);
    expect(hasNetperfChanged(stored, of(udp, linkOf("a", "b", 1, { method: "tcp_rr", ...rtt(90) })))).toBe(
      false,
    );
    expect(hasNetperfChanged(stored, of())).toBe(false);
    expect(hasNetperfChanged({ [key("b", "a")]: "7" }, of(udp))).toBe(false);
  });
});
