import type { Link } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { axisOf, believed, healing, isAsBefore, linkInWords, onAxis } from "./pair-model.ts";

const link = (method: string, origin: string, p50: number | null): Link =>
  ({ method, origin, rttMs: { p50 }, costMs: p50 }) as unknown as Link;

describe("the link that is believed", () => {
  test("is measured, with a figure, and of the preferred method", () => {
    const links = [
      link("udp_rr", "estimated", 1),
      link("icmp", "measured", 2),
      link("tcp_rr", "measured", 3),
    ];
    expect(believed(links, [])).toBe(links[2]);
    expect(believed(links, ["icmp"])).toBe(links[1]);
    expect(believed([link("udp_rr", "measured", null), links[1]!], [])).toBe(links[1]);
    expect(believed([], [])).toBeNull();
  });
});

describe("the axis", () => {
  test("holds all values, logarithmically", () => {
    const { low, high, ticks } = axisOf([12, 300]);
    expect([low, high]).toEqual([10, 500]);
    expect(ticks[0]).toBe(10);
    expect(onAxis(10, low, high)).toBe(0);
    expect(onAxis(500, low, high)).toBe(1);
    expect(onAxis(Math.sqrt(5000), low, high)).toBeCloseTo(0.5);
    expect(axisOf([]).ticks).toHaveLength(5);
  });
});

describe("an emulated link", () => {
  const initial = { rttMs: 12, jitterMs: 0, lossRatio: 0, bandwidthBitsPerSecond: null, cut: false };

  test("is said in words", () => {
    expect(linkInWords(initial)).toBe("12 ms");
    expect(linkInWords({ ...initial, jitterMs: 2, lossRatio: 0.3 })).toBe("12 ms, jitter 2 ms, loses 30 %");
    expect(linkInWords({ ...initial, cut: true })).toBe("cut");
  });

  test("is healed to what it was, in everything that can be changed", () => {
    const broken = { rttMs: 80, jitterMs: 5, lossRatio: 0.3, bandwidthBitsPerSecond: 1e6, cut: true };
    expect(isAsBefore(broken, initial)).toBe(false);
    const { delayMs, ...rest } = healing(initial);
    expect(isAsBefore({ ...broken, ...rest, rttMs: delayMs! } as typeof initial, initial)).toBe(true);
  });
});
