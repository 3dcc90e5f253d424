import { expect, test } from "vitest";
import { looseFields, looseList, looseText, pickedFields } from "./loose.ts";

test("what has the wrong type counts as absent", () => {
  expect(["x", 1, null, ["a"], undefined].map(looseFields)).toEqual([{}, {}, {}, {}, {}]);
  expect(looseFields({ a: 1 })).toEqual({ a: 1 });
  expect([{}, "ab", null].map(looseList)).toEqual([[], [], []]);
  expect([1, null, "a"].map(looseText)).toEqual(["", "", "a"]);
});

test("a list keeps its places", () => {
  expect(looseList([{ a: 1 }, "odd", { b: 2 }])).toEqual([{ a: 1 }, {}, { b: 2 }]);
});

test("of the named fields those are picked that are there", () => {
  expect(pickedFields({ a: 1, b: null, c: undefined, d: 2 }, ["a", "b", "c", "e"])).toEqual({
    a: 1,
    b: null,
  });
  expect(Object.keys(pickedFields({ c: undefined }, ["c"]))).toEqual([]);
});
