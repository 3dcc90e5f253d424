import { describe, expect, test } from "vitest";
import { SourceClocks } from "./source-clocks.ts";

/** Offsets and generations after records with these delays, for a clock with this error. */
function after(delays: readonly number[], errorMs = 0): [number, number][] {
  const clocks = new SourceClocks(10);
  return delays.map((delayMs, i) => {
    const sentAtMs = 1_700_000_000_000 + 1000 * i;
    const { offsetMs, generation } = clocks.observe("a", sentAtMs + errorMs, sentAtMs + delayMs);
    return [offsetMs, generation];
  });
}

describe("the clock of a source", () => {
  test("is known by the record of the newest eight that was least delayed", () => {
    expect(after([20, 900, 5, 400]).map(([offsetMs]) => offsetMs)).toEqual([20, 20, 5, 5]);
  });

  test("is known with its error", () => {
    expect(after([20, 900], 60_000).at(-1)).toEqual([20 - 60_000, 0]);
  });

  test("is believed to be slower after eight records, and faster at once", () => {
    const offsets = after([
      ...Array.from({ length: 8 }, () => 10),
      ...Array.from({ length: 8 }, () => 3000),
      0,
    ]);
    expect(offsets.map(([offsetMs]) => offsetMs)).toEqual([...Array.from({ length: 15 }, () => 10), 3000, 0]);
    expect(offsets.at(-1)).toEqual([0, 0]);
  });

  test("that steps by more than ten seconds is another one at once", () => {
    expect(after([10, 10_011, 10_020, 15])).toEqual([
      [10, 0],
      [10_011, 1],
      [10_011, 1],
      [15, 1],
    ]);
    expect(after([60_000, 10])).toEqual([
      [60_000, 0],
      [10, 1],
    ]);
  });
});
