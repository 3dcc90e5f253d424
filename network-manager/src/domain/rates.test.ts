import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseRate, queueBytesOf, shownRate } from "./rates.ts";

test.each([
  [1, 8],
  [999_999, 999_992],
  [1_234_567, 1_234_000],
  [10_000_000, 10_000_000],
  [1_234_567_890, 1_234_000_000],
])("%d bit/s are set as %d", (wanted, shown) => {
  expect(shownRate(wanted)).toBe(shown);
});

test("no rate is rounded up, or down by more than a thousandth", () => {
  fc.assert(
    fc.property(fc.double({ min: 8_000, max: 1e12, noNaN: true }), (rate) => {
      expect(shownRate(rate)).toBeLessThanOrEqual(rate);
      expect(shownRate(rate)).toBeGreaterThan(rate * 0.998);
      expect(shownRate(shownRate(rate))).toBe(shownRate(rate));
    }),
  );
});

test("rates are read as tc prints them", () => {
  expect(["800bit", "1234Kbit", "12Mbit", "1Gbit", "fast"].map(parseRate)).toEqual([
    800,
    1_234_000,
    12e6,
    1e9,
    null,
  ]);
});

test("a queue holds half a second, within bounds", () => {
  expect([1e3, 10e6, 1e12].map(queueBytesOf)).toEqual([65_536, 625_000, 8_388_608]);
});
