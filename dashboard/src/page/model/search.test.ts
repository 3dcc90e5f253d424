import { expect, test } from "vitest";
import { found, isMatch } from "./search.ts";

test("a node is found by words of its name, in any order and case", () => {
  expect(isMatch("North-a-1", "a-1 north")).toBe(true);
  expect(isMatch("north-a-1", "north b")).toBe(false);
  expect(isMatch("north-a-1", "")).toBe(true);
});

test("the first names that match are found, and nothing by no letters", () => {
  const names = ["a-1", "b-1", "a-2", "a-3"];
  expect(found(names, "a-", 2)).toEqual([0, 2]);
  expect(found(names, " ", 9)).toEqual([]);
  expect(found(names, "c", 9)).toEqual([]);
});
