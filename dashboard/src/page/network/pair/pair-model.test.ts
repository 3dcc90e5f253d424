import type { Link, LinkHistory } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import {
  errorNote,
  axisOf,
  believed,
  healing,
  isAsBefore,
  isCut,
  lastAnswer,
  linkInWords,
  onAxis,
} from "./pair-model.ts";

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

describe("the last answer", () => {
  const of = (count: number, more: object = {}) =>
    ({ rttMs: { count }, observedAt: "2026-01-01T00:10:00Z", ...more }) as unknown as Link;
  const past = {
    points: [
      { at: "2026-01-01T00:08:00Z", p50Ms: 12 },
      { at: "2026-01-01T00:09:00Z", p50Ms: 13 },
      { at: "2026-01-01T00:10:00Z", p50Ms: null },
    ],
  } as unknown as LinkHistory;

  test("of a pair that answers is its newest sample", () =>
    expect(lastAnswer(of(25), null)).toEqual({ at: "2026-01-01T00:10:00Z", isExact: true }));

  test("of a cut pair is what the graph says, else a moment of the history before which it was, never the lost packet's", () => {
    const answeredAt = "2026-01-01T00:09:31Z";
    expect(lastAnswer(of(0, { answeredAt }), past)).toEqual({ at: answeredAt, isExact: true });
    expect(lastAnswer(of(0), past)).toEqual({ at: "2026-01-01T00:09:00Z", isExact: false });
    expect(lastAnswer(of(0), null)).toBeNull();
    expect(lastAnswer(of(0, { answeredAt: null }), null)).toBeNull();
  });

  test("a pair is cut where it is probed and nothing comes back", () => {
    expect(isCut({ origin: "measured", lossRatio: 1 } as Link)).toBe(true);
    expect(isCut({ origin: "measured", lossRatio: 0.9 } as Link)).toBe(false);
    expect(isCut({ origin: "estimated", lossRatio: null } as Link)).toBe(false);
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
    expect(isAsBefore({ ...broken, ...rest, rttMs: delayMs! }, initial)).toBe(true);
  });
});

test.each([
  [{ costMs: 3.1, errorMs: 0.4, provisional: false }, /^± 0\.40? ms$/],
  [{ costMs: 3.1, errorMs: 0.4, provisional: true }, /^± 0\.40? ms; provisional: nothing moves/],
  [{ costMs: 3.1, errorMs: null, provisional: false }, /^error not known$/],
  [{ costMs: null, errorMs: null, provisional: false }, /^$/],
])("the error of a cost says how far it may be from the truth (%j)", (fields, note) => {
  expect(errorNote(fields)).toMatch(note);
});
