import { expect, test } from "vitest";
import { seeded } from "./seeded.ts";

test.each([
  [0, [1144304738, 1416247, 958946056]],
  [1, [2693262067, 11749833, 2265367787]],
  [42, [2581720956, 1925393290, 3661312704]],
])("seed %i gives the numbers of mulberry32", (seed, expected) => {
  const draw = seeded(seed);
  expect(expected.map(() => draw() * 2 ** 32)).toEqual(expected);
});
