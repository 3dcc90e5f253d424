import type { ClusterGraphSnapshot, Link } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { linkOrder } from "../compare.ts";
import { diffGraphs } from "./graph-diff.ts";
import { linkOf } from "../../testing/snapshots.ts";

function cluster(links: Link[]): ClusterGraphSnapshot {
  return { version: 2, observedAt: "2026-01-01T00:00:00.000Z", windowSeconds: 30, nodes: [], links };
}

const changed = (before: Link[], after: Link[]) =>
  diffGraphs(
    { cluster: cluster(before), workflows: [] },
    { cluster: cluster(after), workflows: [] },
    linkOrder([]),
  ).changed.links.map(({ source, target, costMs }) => `${source}${target} ${costMs}`);

describe("diffGraphs", () => {
  test("names links whose cost changed, appeared or went, and no others", () => {
    const before = [linkOf("a", "b", 1), linkOf("a", "c", 2), linkOf("b", "a", 3), linkOf("d", "a", 9)];
    const after = [linkOf("a", "a", 5), linkOf("a", "b", 1), linkOf("a", "c", 4), linkOf("c", "a", 6)];
    expect(changed(before, after).sort()).toEqual(["aa 5", "ac 4", "ba null", "ca 6", "da null"]);
  });

  test("age alone is no change", () => {
    expect(
      changed([linkOf("a", "b", 1, { ageSeconds: 1 })], [linkOf("a", "b", 1, { ageSeconds: 2 })]),
    ).toEqual([]);
  });

  test("bandwidth is a change when a burst or a declaration moved it, headroom alone isn't", () => {
    const of = (target: string, capacity: number, achieved: number, available: number): Link => ({
      ...linkOf("a", target, 1),
      bandwidthBitsPerSecond: { capacity, achieved, available },
    });
    const before = [of("b", 10, 5, 1), of("c", 10, 5, 1), of("d", 10, 5, 1)];
    const after = [of("b", 11, 5, 1), of("c", 10, 6, 1), of("d", 10, 5, 2)];
    expect(changed(before, after)).toEqual(["ab 1", "ac 1"]);
  });

  test("before the first graph everything is new", () => {
    expect(
      diffGraphs(null, { cluster: cluster([linkOf("a", "b", 1)]), workflows: [] }, linkOrder([])).changed
        .links,
    ).toHaveLength(1);
  });
});
