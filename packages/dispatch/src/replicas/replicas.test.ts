import { seeded } from "@isochrone/primitives";
import { describe, expect, it } from "vitest";
import { isWorthItsImage } from "../image-price.ts";
import { expectedRate, rateAfter } from "../rate-forecast.ts";
import { chosenChanges } from "./chosen.ts";
import { wantedReplicas } from "./zone-replicas.ts";

interface Spec {
  readonly perSecond: readonly number[];
  readonly replicas: readonly number[];
  readonly closed?: readonly number[];
  readonly deadlineMs?: number;
  readonly rtt?: (from: number, to: number) => number;
  readonly least?: { readonly replicas: number; readonly zones: number };
}

function wanted({ perSecond, replicas, closed = [], deadlineMs, rtt, least }: Spec) {
  return wantedReplicas({
    perSecond,
    replicas,
    isOpen: (zone) => !closed.includes(zone),
    capacityPerSecond: 100,
    deadlineMs: deadlineMs ?? null,
    rttMs: rtt ?? (() => 10),
    least: least ?? { replicas: 1, zones: 1 },
  });
}

describe("wanted replicas", () => {
  it("are where the requests are", () => {
    const { wanted: counts, adds, removes } = wanted({ perSecond: [450, 20], replicas: [1, 5] });
    expect(counts[0]).toBeGreaterThanOrEqual(5);
    expect(counts[1]).toBe(1);
    expect(adds.every(({ zone }) => zone === 0)).toBe(true);
    expect(removes.map(({ zone }) => zone)).toEqual([1, 1, 1, 1]);
    const gains = adds.map(({ perSecond }) => perSecond);
    expect(gains).toEqual(gains.toSorted((a, b) => b - a));
    expect(gains.at(-1)).toBeGreaterThanOrEqual(10);
  });

  it("stay as they are once they are as wanted: what is added isn't taken away", () => {
    for (const rate of [1, 30, 59, 60, 61, 90, 120, 200, 333, 1000, 5000]) {
      const first = wanted({ perSecond: [rate, 5], replicas: [1, 1] });
      let replicas = first.wanted;
      for (let frame = 0; frame < 3; frame++) replicas = wanted({ perSecond: [rate, 5], replicas }).wanted;
      const last = wanted({ perSecond: [rate, 5], replicas });
      expect([last.adds, last.removes]).toEqual([[], []]);
      expect(last.inTimeRatio[0]).toBeGreaterThan(0.75);
      expect(replicas[0]).toBeLessThan(2 + 1.4 * (rate / 100) + 1);
    }
  });

  it("follow a zone without a replica to the nearest, unless it is too far to be in time", () => {
    const rtt = (from: number, to: number): number => 30 * Math.abs(from - to);
    const spec = { perSecond: [10, 10, 20], replicas: [1, 1, 0], rtt };
    expect(wanted(spec).wanted).toEqual([1, 1, 0]);
    const tight = wanted({ ...spec, deadlineMs: 20 });
    expect(tight.inTimeRatio[2]).toBe(0);
    expect(tight.wanted).toEqual([1, 1, 1]);
    expect(tight.adds[0]!.zone).toBe(2);
  });

  it("take round trips that aren't known for the longest", () => {
    const rtt = (from: number, to: number): number => (from + to === 3 ? 5 : Number.NaN);
    const { inTimeRatio } = wanted({ perSecond: [0, 150, 50], replicas: [1, 1, 0], rtt });
    expect(inTimeRatio[2]).toBe(inTimeRatio[1]);
    expect(inTimeRatio[0]).toBeNull();
  });

  it("leave so many replicas and zones as they must, and as there are", () => {
    const idle = (least: Spec["least"], replicas = [2, 2]) =>
      wanted({ perSecond: [1, 0], replicas, ...(least === undefined ? {} : { least }) }).wanted;
    expect(idle({ replicas: 1, zones: 1 })).toEqual([1, 0]);
    expect(idle({ replicas: 2, zones: 2 })).toEqual([1, 1]);
    expect(idle({ replicas: 3, zones: 1 }).reduce((a, b) => a + b)).toBe(3);
    expect(idle({ replicas: 2, zones: 2 }, [1, 0])).toEqual([1, 0]);
  });

  it("aren't in zones without room, and nowhere without any replica or request", () => {
    expect(wanted({ perSecond: [500, 500], replicas: [1, 1], closed: [0] }).wanted[0]).toBe(1);
    expect(wanted({ perSecond: [0, 0], replicas: [0, 0] }).wanted).toEqual([0, 0]);
    const none = wanted({ perSecond: [50, 0], replicas: [0, 0] });
    expect(none.inTimeRatio).toEqual([0, null]);
    expect(none.wanted).toEqual([1, 0]);
    expect(wanted({ perSecond: [500, 10], replicas: [1, 9], closed: [0] }).wanted[0]).toBe(1);
  });

  it("are the same in one go and one after the other", () => {
    const draw = seeded(5);
    for (let round = 0; round < 60; round++) {
      const zones = 2 + Math.floor(draw() * 5);
      const drawn = (most: number): number[] =>
        Array.from({ length: zones }, () => Math.floor(draw() * most));
      const [perSecond, replicas] = [drawn(400), drawn(4)];
      const rtt = (from: number, to: number): number => 7 * Math.abs(from - to);
      const spec = { perSecond, rtt, ...(round % 2 === 0 ? {} : { deadlineMs: 15 }) };
      const { adds } = wanted({ ...spec, replicas });
      const now = [...replicas];
      for (const { zone, perSecond: gain } of adds) {
        const [first] = wanted({ ...spec, replicas: now }).adds;
        expect([first!.zone, first!.perSecond]).toEqual([zone, expect.closeTo(gain, 6)]);
        now[zone]!++;
      }
      expect(wanted({ ...spec, replicas: now }).adds).toEqual([]);
    }
  });

  it("are at most a hundred more in a frame, whatever is asked", () => {
    const { adds } = wanted({ perSecond: [1e9], replicas: [1] });
    expect(adds).toHaveLength(100);
    expect(adds.every(({ perSecond }) => Math.abs(perSecond - 100) < 1)).toBe(true);
  });
});

describe("the changes of a frame", () => {
  const change = (
    kind: "add" | "remove",
    perSecond: number,
    memoryBytes: number | null = 1e9,
    namespace = "shop",
  ) => ({
    namespace,
    kind,
    perSecond,
    memoryBytes,
  });

  it("are those that bring most for their memory, then those missed least", () => {
    const [small, large] = [change("add", 10, 5e8), change("add", 15, 2e9)];
    const [idle, used] = [change("remove", 0), change("remove", 3)];
    expect(chosenChanges([used, large, idle, small], 3)).toEqual([small, large, idle]);
    expect(chosenChanges([used, large], 0)).toEqual([]);
  });

  it("leave other namespaces half of them, whatever one claims to bring", () => {
    const claimed = Array.from({ length: 20 }, () => change("add", 1e9, 1e9, "loud"));
    const quiet = Array.from({ length: 3 }, () => change("add", 1, 1e9, "quiet"));
    const of = (chosen: readonly { namespace: string }[], namespace: string): number =>
      chosen.filter((each) => each.namespace === namespace).length;
    const chosen = chosenChanges([...claimed, ...quiet], 10);
    expect([of(chosen, "loud"), of(chosen, "quiet")]).toEqual([7, 3]);
    const full = chosenChanges([...claimed, ...quiet, ...quiet], 10);
    expect([of(full, "loud"), of(full, "quiet")]).toEqual([5, 5]);
  });

  it("take memory that nobody said, or none, for a little", () => {
    const [unknown, none] = [change("add", 10, null), change("add", 10, 0)];
    const known = change("add", 10, 64 * 2 ** 20);
    expect(chosenChanges([unknown, known], 2)).toEqual([known, unknown]);
    expect(chosenChanges([none], 1)).toEqual([none]);
  });
});

it("an image must be worth its bytes, and costs nothing where nobody knows its size", () => {
  expect([isWorthItsImage(1, 2_000), isWorthItsImage(1, 4_000), isWorthItsImage(0.01, null)]).toEqual([
    true,
    false,
    true,
  ]);
});

it("a rate is expected to scatter as it did", () => {
  const first = rateAfter(null, 100, 25);
  expect(first).toEqual({ mean: 100, deviation: 2 });
  const second = rateAfter(first, 200, 25);
  expect(second).toEqual({ mean: 140, deviation: 41.2 });
  expect(expectedRate(second)).toBe(181.2);
});
