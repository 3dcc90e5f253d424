import { expect, test } from "vitest";
import { didYouMean, editDistance } from "./suggest.ts";

test.each([
  ["kitten", "sitting", 3],
  ["", "abc", 3],
  ["same", "same", 0],
  ["flaw", "lawn", 2],
])("the distance of %s and %s is %i", (left, right, distance) => {
  expect(editDistance(left, right)).toBe(distance);
});

test("the nearest candidate is named, whatever its case", () => {
  expect(didYouMean("INTERVALMS", ["timeoutMs", "intervalMs"])).toBe("; did you mean intervalMs?");
});

test("a far word names none", () => {
  expect(didYouMean("abc", ["xyz"])).toBe("");
});
