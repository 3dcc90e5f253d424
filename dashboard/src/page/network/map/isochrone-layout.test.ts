import type { ClusterColumns } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { clusterViewOf } from "../../model/cluster-view.ts";
import { isochronesOf } from "./isochrone-layout.ts";

const COORDINATES: Readonly<Record<string, number[] | null>> = {
  a: [0, 0, 0],
  b: [4, 0, 0],
  c: [0, 90, 0],
  d: [-30, 0, 0],
  e: null,
};

/** Links of a: to b measured, to c dead; d only has coordinates, e nothing. */
function view(nearMs = 4, coordinates = COORDINATES) {
  const columns = (values: readonly (number | null)[]): (number | null)[] => [...values];
  return clusterViewOf({
    version: 1,
    observedAt: "2026-01-01T00:00:00Z",
    windowSeconds: 30,
    nodes: Object.entries(coordinates).map(([name, coordinate]) => ({
      name,
      zone: null,
      region: null,
      coordinate,
    })),
    links: {
      source: [0, 0],
      target: [1, 2],
      method: [0, 0],
      methods: ["udp_rr"],
      ipFamily: [4, 4],
      origin: [0, 0],
      origins: ["measured"],
      provisional: [0, 0],
      p50Ms: columns([nearMs, null]),
      p90Ms: columns([5, null]),
      p99Ms: columns([null, null]),
      lossRatio: columns([0, 1]),
      costMs: columns([4, null]),
      errorMs: columns([0, null]),
      ageSeconds: columns([1, 1]),
      count: [25, 0],
    },
  } as unknown as ClusterColumns);
}

describe("isochrones", () => {
  const { neighbours, rings } = isochronesOf(view(), "a")!;
  const of = (name: string) => neighbours.find(({ node }) => node.name === name)!;

  test("place nodes by what is measured from the one in the middle, else by its estimate, and say which", () => {
    expect([of("b").ms, of("b").isEstimated]).toEqual([4, false]);
    expect([of("d").ms, of("d").isEstimated]).toEqual([30, true]);
    expect(of("b").share).toBeLessThan(of("d").share);
    expect(neighbours.map(({ node }) => node.name)).not.toContain("a");
  });

  test("leave those without an answer, and those of which nothing is known, outside of all rings", () => {
    expect(of("c").ms).toBe(Number.POSITIVE_INFINITY);
    expect(of("e").ms).toBeNaN();
    for (const name of ["c", "e"]) expect(of(name).share).toBeGreaterThan(1);
  });

  test("have rings as far as the farthest node, and say how many are within", () => {
    expect(rings.map(({ ms, within }) => [ms, within])).toEqual([
      [5, 1],
      [10, 1],
      [20, 1],
      [50, 2],
    ]);
    expect(rings.at(-1)!.share).toBe(1);
  });

  test.each([0.01, 0.4, 6.3, 154, 2_300])(
    "use the whole drawing where the farthest answers in %d ms",
    (ms) => {
      const near = isochronesOf(view(ms, { a: [0, 0, 0], b: [ms, 0, 0], c: null }), "a")!;
      const share = near.neighbours[0]!.share;
      expect(share).toBeGreaterThan(ms < 0.4 ? 0.15 : 0.4);
      expect(share).toBeLessThanOrEqual(1);
      expect(near.rings.length).toBeLessThanOrEqual(4);
      expect(near.rings[0]!.share).toBeGreaterThan(0.2);
    },
  );

  test("keep nodes apart, and in the order of their directions on the map", () => {
    const angles = neighbours.map(({ angle }) => angle).sort((x, y) => x - y);
    for (const [index, angle] of angles.slice(1).entries())
      expect(angle - angles[index]!).toBeGreaterThan(0.5);
  });

  test("of a node that isn't there are none", () => expect(isochronesOf(view(), "nowhere")).toBeNull());
});
