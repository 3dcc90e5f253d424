import { expect, test } from "vitest";
import { MAX_AMOUNT } from "./figures.ts";
import { parseMillicores, parseQuantity } from "./quantity.ts";

// Forms of https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
test.each([
  ["1500m", 1.5],
  ["2", 2],
  ["0.5", 0.5],
  [".5", 0.5],
  ["1e3", 1_000],
  ["2Gi", 2 ** 31],
  ["100M", 1e8],
  ["250n", 2.5e-7],
  [" 3k ", 3_000],
  [4, 4],
])("%j is %d", (text, value) => {
  expect(parseQuantity(text)).toBeCloseTo(value, 12);
});

test.each([
  ["abc"],
  [""],
  ["1 Gi"],
  ["1gb"],
  ["1e999"],
  ["1e308"],
  ["1E400"],
  ["99999999999Ei"],
  ["-1"],
  ["-0.1"],
  [-1],
  ["NaN"],
  ["Infinity"],
  [1e308],
  ["9".repeat(41)],
  [null],
  [{}],
  [Number.NaN],
])("%j is no quantity", (text) => {
  expect(parseQuantity(text)).toBeNull();
});

test("the largest amount is 2^53 - 1, in thousandths of cores too, and there is no -0", () => {
  expect(parseQuantity(String(MAX_AMOUNT))).toBe(MAX_AMOUNT);
  expect(parseQuantity("8Pi")).toBeNull();
  expect(parseMillicores(MAX_AMOUNT)).toBe(MAX_AMOUNT);
  expect(parseMillicores("1.5")).toBe(1_500);
  expect(parseMillicores("1e308")).toBeNull();
  expect(parseQuantity("-0")).toBe(0);
});
