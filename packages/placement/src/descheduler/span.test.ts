import { expect, test } from "vitest";
import { keepsSpan } from "./span.ts";

const ZONES: Readonly<Record<string, string>> = { a1: "a", a2: "a", b1: "b", b2: "b" };
const zoneOf = (node: string): string | null => ZONES[node] ?? null;
const at = (name: string) => ({ name, zone: zoneOf(name) });

const TWO = { minNodes: 2, minZones: 2 };

test.each([
  ["two nodes stay two", ["a1", "b1"], "b1", "b2", true],
  ["two nodes would become one", ["a1", "b1"], "b1", "a1", false],
  ["two zones would become one", ["a1", "b1"], "b1", "a2", false],
  ["three on three nodes may be on two", ["a1", "a2", "b1"], "a2", "b1", true],
  ["but not in one zone", ["a1", "a2", "b1"], "b1", "a1", false],
  ["one zone of before may stay one", ["a1", "a2"], "a2", "a3", true],
  ["or become two", ["a1", "a2"], "a2", "b1", true],
  ["one node of before may stay one", ["a1", "a1"], "a1", "a2", true],
  ["nodes without a zone have none to lose", ["x1", "x2"], "x1", "x3", true],
  ["though not into no zone", ["a1", "b1"], "b1", "x1", false],
])("%s", (_, replicas, from, to, kept) => {
  const target = { name: to, zone: to === "a3" ? "a" : zoneOf(to) };
  expect(keepsSpan(replicas, at(from), target, zoneOf, TWO)).toBe(kept);
});

test.each([
  ["one zone is enough", ["a1", "b1"], "b1", "a2", { minNodes: 2, minZones: 1 }, true],
  ["one node isn't", ["a1", "b1"], "b1", "a1", { minNodes: 2, minZones: 1 }, false],
  ["one node is enough", ["a1", "b1"], "b1", "a1", { minNodes: 1, minZones: 1 }, true],
  ["three nodes", ["a1", "a2", "b1"], "a2", "b1", { minNodes: 3, minZones: 2 }, false],
  ["three nodes of two replicas", ["a1", "b1"], "b1", "b2", { minNodes: 3, minZones: 2 }, true],
])("as the settings say: %s", (_, replicas, from, to, spread, kept) => {
  expect(keepsSpan(replicas, at(from), at(to), zoneOf, spread)).toBe(kept);
});
