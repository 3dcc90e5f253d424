import { expect, test } from "vitest";
import { parseQuantity } from "./quantity.ts";

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
  ["-1", -1],
  [4, 4],
])("%j is %d", (text, value) => {
  expect(parseQuantity(text)).toBeCloseTo(value, 12);
});

test.each([["abc"], [""], ["1 Gi"], ["1gb"], ["1e999"], [null], [{}], [Number.NaN]])(
  "%j is no quantity",
  (text) => {
    expect(parseQuantity(text)).toBeNull();
  },
);
