import { expect, test } from "vitest";
import { pickedFields } from "./picked-fields.ts";

test("of the named fields those are picked that are there", () => {
  expect(pickedFields({ a: 1, b: null, c: undefined, d: 2 }, ["a", "b", "c", "e"])).toEqual({
    a: 1,
    b: null,
  });
  expect(Object.keys(pickedFields({ c: undefined }, ["c"]))).toEqual([]);
});
