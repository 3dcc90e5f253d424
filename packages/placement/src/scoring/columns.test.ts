import { describe, expect, test } from "vitest";
import { minMax, normalised } from "./columns.ts";

const shares = (values: number[], minSpread: number): number[] | null => {
  const scale = minMax(Float64Array.from(values), null, minSpread);
  return scale === null ? null : values.map((value) => Number(normalised(value, scale).toFixed(6)));
};

describe("a column that is normalised with a smallest spread", () => {
  test("is stretched to 0..1 where its values differ by that share of the largest, or more", () => {
    expect(shares([90, 95, 100], 0.1)).toEqual([0, 0.5, 1]);
    expect(shares([-1_000, 0], 0.1)).toEqual([0, 1]);
  });

  test("stays around the middle where they differ by less: 1 % apart isn't 0 and 1", () => {
    expect(shares([99, 100], 0.1)).toEqual([0.45, 0.55]);
    expect(shares([-100, -99], 0.1)).toEqual([0.45, 0.55]);
  });

  test("says nothing where they don't differ, and everything without a smallest spread", () => {
    expect(shares([7, 7], 0.1)).toBeNull();
    expect(shares([0, 0], 0.1)).toBeNull();
    expect(shares([99, 100], 0)).toEqual([0, 1]);
  });

  test("changes steadily from the one to the other", () => {
    expect(shares([89.99, 100], 0.1)).toEqual([0, 1]);
    expect(shares([90.01, 100], 0.1)![0]).toBeCloseTo(0.0005, 5);
  });
});
