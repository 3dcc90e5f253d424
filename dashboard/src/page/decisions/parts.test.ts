import type { Candidate } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { barsOf, partsOf } from "./parts.ts";

const candidate = (
  name: string,
  score: number,
  parts: Record<string, number | null>,
  feasible = true,
): Candidate => ({
  name,
  feasible,
  reason: feasible ? null : "full",
  raw: null,
  score,
  parts,
});

describe("bars of candidates", () => {
  test("compare each part among the candidates, the best first", () => {
    const bars = barsOf([
      candidate("a", 10, { cpu: 1, resource: 50, network: -1000 }),
      candidate("b", 90, { cpu: 2, resource: 50, network: 0 }),
      candidate("c", 40, { cpu: 3, resource: 50, network: -250 }),
    ]);
    expect(
      bars.map(({ candidate: { name }, segments }) => [name, ...segments.map(({ share }) => share)]),
    ).toEqual([
      ["b", 0.5, 0.5],
      ["c", 0.5, 0.375],
      ["a", 0.5, 0],
    ]);
  });

  test("leave out what nobody knows, what others hold, and who can't be chosen", () => {
    const candidates = [
      candidate("a", 99, { cpu: 1, memory: 1, resource: 2, network: null, odd: Number.NaN }, false),
      candidate("b", 1, { cpu: 1, memory: 1, resource: 3, network: null }),
    ];
    expect(partsOf(candidates)).toEqual(["resource"]);
    expect(barsOf(candidates).map(({ candidate: { name }, segments }) => [name, segments.length])).toEqual([
      ["b", 1],
      ["a", 0],
    ]);
  });
});
