import { expect, test } from "vitest";
import { labOf, labPrefix, startTicksOf } from "./names.ts";

test("a namespace's name tells whose lab it is of", () => {
  const owner = { pid: 4711, startTicks: 123_456 };
  const prefix = labPrefix(owner, "0a1b2c3d");
  expect(labOf(`${prefix}node-1`)).toEqual({ prefix, owner });
  expect(labOf(`${prefix}_hub`)).toEqual({ prefix, owner });
});

test.each(["isolab", "isolab-1-2-xyz-a", "isolab-1-2-aa", "my-isolab-1-2-aa-b", "other"])(
  "%s is no lab's",
  (name) => {
    expect(labOf(name)).toBeNull();
  },
);

test.each([
  ["7 (sh) S 1 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 1", 98_765],
  ["7 (a) S (b) R 1 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 5 1 1", 5],
  ["7 (sh) Z 1 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 1", null],
])("start of %s", (stat, ticks) => {
  expect(startTicksOf(stat)).toBe(ticks);
});
