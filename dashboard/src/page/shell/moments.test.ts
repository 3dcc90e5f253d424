import { expect, test } from "vitest";
import { indexOfMoment } from "./moments.ts";

test("a moment between two is the one before", () => {
  const times = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z"];
  const of = (time: string): number => indexOfMoment(times, time);
  expect([of("2026-01-01T00:00:15Z"), of("2026-01-01T00:00:20Z"), of("2025-01-01T00:00:00Z")]).toEqual([
    1, 2, 0,
  ]);
  expect(indexOfMoment([], "2026-01-01T00:00:15Z")).toBe(0);
});
