import type { ClusterGraphSnapshot, Link } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { linkOrder } from "./compare.ts";
import { diffGraphs } from "./graph-diff.ts";

function link(source: string, target: string, costMs: number | null, ageSeconds = 0): Link {
  return {
    source,
    target,
    method: "udp_rr",
    ipFamily: 4,
    rttMs: { p50: costMs, p90: null, p99: null, mean: null, count: 1 },
    lossRatio: 0,
    jitterMs: null,
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
    costMs,
    errorMs: null,
    origin: "measured",
    provisional: false,
    ageSeconds,
    observedAt: null,
  };
}

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
    const before = [link("a", "b", 1), link("a", "c", 2), link("b", "a", 3), link("d", "a", 9)];
    const after = [link("a", "a", 5), link("a", "b", 1), link("a", "c", 4), link("c", "a", 6)];
    expect(changed(before, after).sort()).toEqual(["aa 5", "ac 4", "ba null", "ca 6", "da null"]);
  });

  test("age alone is no change", () => {
    expect(changed([link("a", "b", 1, 1)], [link("a", "b", 1, 2)])).toEqual([]);
  });

  test("before the first graph everything is new", () => {
    expect(
      diffGraphs(null, { cluster: cluster([link("a", "b", 1)]), workflows: [] }, linkOrder([])).changed.links,
    ).toHaveLength(1);
  });
});
