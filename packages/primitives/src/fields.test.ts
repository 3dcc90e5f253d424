import { expect, test } from "vitest";
import {
  definedOf,
  entriesOf,
  isKeyOf,
  keysOf,
  looseFields,
  looseList,
  looseText,
  recordOf,
} from "./fields.ts";

test("what has the wrong type counts as absent", () => {
  expect(["x", 1, null, ["a"], undefined].map(looseFields)).toEqual([{}, {}, {}, {}, {}]);
  expect(looseFields({ a: 1 })).toEqual({ a: 1 });
  expect([{}, "ab", null].map(looseList)).toEqual([[], [], []]);
  expect([1, null, "a"].map(looseText)).toEqual(["", "", "a"]);
});

test("a list keeps its places", () => {
  expect(looseList([{ a: 1 }, "odd", { b: 2 }])).toEqual([{ a: 1 }, {}, { b: 2 }]);
});

test("an object has a value for each of its keys", () => {
  const lengths = recordOf(["a", "bcd"], (key, index) => key.length + 10 * index);
  expect(lengths).toEqual({ a: 1, bcd: 13 });
  expect(keysOf(lengths)).toEqual(["a", "bcd"]);
  expect(entriesOf(lengths)).toEqual([
    ["a", 1],
    ["bcd", 13],
  ]);
});

test("what an object inherits is no key of its", () => {
  expect(["a", "toString"].map((key) => isKeyOf({ a: 1 }, key))).toEqual([true, false]);
});

test("fields that are given as undefined are left out", () => {
  expect(Object.keys(definedOf({ a: 1, b: undefined }))).toEqual(["a"]);
});
