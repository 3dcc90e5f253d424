import { describe, expect, test } from "vitest";
import { FLAT_MODEL } from "../../testing/fits.ts";
import { clusterNode, linkOf, snapshotOf } from "../../testing/snapshots.ts";
import { linkOrder } from "../compare.ts";
import { withEstimated } from "./coordinate-links.ts";
import { Coordinates, type CoordinateModel } from "../../coordinates/domain/coordinates.ts";

const RULE = { methods: ["udp_rr", "icmp"], quantile: "p50" } as const;
const ORDER = linkOrder(RULE.methods);
const NOW = Date.parse("2026-01-01T00:00:00.000Z");

function coordinates(model: CoordinateModel = FLAT_MODEL): Coordinates {
  return new Coordinates(model, {
    sampledMs: NOW - 40_000,
    pairs: 2,
    medianRelativeError: 0.1,
    p90RelativeError: 0.3,
  });
}

const shown = (links: ReturnType<typeof withEstimated>): string[] =>
  links.map(({ source, target, origin, costMs }) => `${source}${target} ${origin} ${costMs}`);

describe("links with estimates", () => {
  test("have an estimate for each pair that wasn't measured, with its error and its age, in the graph's order", () => {
    const graph = snapshotOf(["a", "b"], [linkOf("b", "a", 3)]);
    const links = withEstimated(graph, coordinates(), RULE, ORDER);
    expect(shown(links)).toEqual(["ab estimated 7", "ba measured 3"]);
    expect(links[0]).toMatchObject({
      method: "udp_rr",
      rttMs: { p50: null, count: 0 },
      errorMs: 2,
      lossRatio: null,
      ageSeconds: 40,
      observedAt: "2025-12-31T23:59:20.000Z",
    });
  });

  test("have none where a measured link has a cost by any method, or where nobody ever answered", () => {
    const graph = snapshotOf(
      ["a", "b"],
      [
        linkOf("a", "b", null, { lossRatio: null }),
        linkOf("a", "b", 4, { method: "icmp" }),
        linkOf("b", "a", null, { lossRatio: 1 }),
      ],
    );
    expect(shown(withEstimated(graph, coordinates(), RULE, ORDER))).toEqual([
      "ab measured null",
      "ab measured 4",
      "ba measured null",
    ]);
  });

  test("have one beside a measured link that fell silent", () => {
    const graph = snapshotOf(["a", "b"], [linkOf("a", "b", null, { lossRatio: null }), linkOf("b", "a", 4)]);
    expect(shown(withEstimated(graph, coordinates(), RULE, ORDER))).toEqual([
      "ab measured null",
      "ab estimated 7",
      "ba measured 4",
    ]);
  });

  test("have a declared one where both nodes declare their capacity and nothing is estimated", () => {
    const nodes = [
      clusterNode("a", { networkCapacityBitsPerSecond: 1e9 }),
      clusterNode("b", { networkCapacityBitsPerSecond: 2e9, networkReceiveBitsPerSecond: 0 }),
      clusterNode("c"),
    ];
    const silent: CoordinateModel = { estimate: () => null, coordinateOf: () => null };
    for (const model of [null, coordinates(silent)]) {
      const links = withEstimated(snapshotOf(nodes, []), model, RULE, ORDER);
      expect(shown(links)).toEqual(["ab declared null", "ba declared null"]);
      expect(links[0]!.bandwidthBitsPerSecond).toEqual({ capacity: 1e9, achieved: null, available: null });
    }
    const estimated = withEstimated(snapshotOf(nodes, []), coordinates(), RULE, ORDER);
    expect(estimated[0]).toMatchObject({ origin: "estimated", bandwidthBitsPerSecond: { capacity: 1e9 } });
  });

  test("have none of a model's impossible answers", () => {
    const estimates = [Number.NaN, -1, Infinity].map((rttMs) =>
      coordinates({ ...FLAT_MODEL, estimate: () => ({ rttMs, errorMs: 1 }) }),
    );
    for (const each of estimates)
      expect(withEstimated(snapshotOf(["a", "b"], []), each, RULE, ORDER)).toEqual([]);
    const unsure = coordinates({ ...FLAT_MODEL, estimate: () => ({ rttMs: 5, errorMs: Number.NaN }) });
    expect(withEstimated(snapshotOf(["a", "b"], []), unsure, RULE, ORDER)[0]).toMatchObject({
      costMs: 5,
      errorMs: null,
    });
  });
});
