import type { ClusterNode } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { mapOf, scaleBar } from "./map-layout.ts";

const node = (name: string, coordinate: number[] | null): ClusterNode =>
  ({ name, coordinate }) as unknown as ClusterNode;

describe("the map", () => {
  test("keeps the distances of what lies in a plane, whatever its axes", () => {
    const nodes = [node("a", [0, 0, 0, 1]), node("b", [0, 30, 0, 2]), node("c", [0, 0, 40, 3])];
    const [a, b, c] = mapOf(nodes);
    const between = (one = a!, other = a!): number => Math.hypot(one.x - other.x, one.y - other.y);
    expect([between(a, b), between(a, c), between(b, c)].map(Math.round)).toEqual([30, 40, 50]);
    expect(c!.heightMs).toBe(3);
  });

  test("is the same every time, and leaves out what has no place", () => {
    const nodes = [node("a", [5, 1, 1]), node("b", null), node("c", [-5, 0, 1])];
    expect(mapOf(nodes)).toEqual(mapOf(nodes));
    expect(mapOf(nodes).map(({ node: { name } }) => name)).toEqual(["a", "c"]);
    expect(mapOf([node("a", null)])).toEqual([]);
    expect(mapOf([node("a", [1, 2, 3])])).toMatchObject([{ x: 0, y: 0 }]);
  });

  test("has a round scale", () =>
    expect([scaleBar(510), scaleBar(99), scaleBar(0.4)]).toEqual([100, 10, 0.05]));
});
