import * as fc from "fast-check";
import { expect, test } from "vitest";
import { NameIndex } from "./name-index.ts";

const name = fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom("__proto__", "a", "ab", "n1", "n2"));

test("finds every name at its position, and no other name", () => {
  fc.assert(
    fc.property(fc.array(name, { maxLength: 60 }), name, (names, other) => {
      const index = new NameIndex(names);
      for (const each of [...names, other]) expect(index.idOf(each)).toBe(names.lastIndexOf(each));
    }),
  );
});

test("finds names that agree in whatever characters it looks at", () => {
  // Each name differs from "aaa..." in one character, so eight sampled characters distinguish few.
  const names = Array.from({ length: 100 }, (_, at) => `${"a".repeat(at)}b${"a".repeat(99 - at)}`);
  const index = new NameIndex(names);
  expect(names.map((each) => index.idOf(each))).toEqual(names.map((_, id) => id));
  expect(index.idOf("a".repeat(100))).toBe(-1);
});
