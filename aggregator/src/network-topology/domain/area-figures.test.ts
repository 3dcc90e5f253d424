import { allSteps } from "@isochrone/primitives/algorithms";
import { describe, expect, test } from "vitest";
import { clusterNode, linkOf, snapshotOf } from "../../testing/snapshots.ts";
import { areaCapacities } from "./area-capacity.ts";
import { areaCostSteps } from "./area-costs.ts";
import { AreaIndex, areaPairsBetween } from "./areas.ts";

const node = (name: string, region: string, zone: string, segment: string | null = null) =>
  clusterNode(name, { region, zone, segment });

const link = (
  source: string,
  target: string,
  p90Ms: number | null,
  more: Parameters<typeof linkOf>[3] = {},
) => linkOf(source, target, p90Ms, { rttMs: { p50: 1, p90: p90Ms, p99: null, mean: 1, count: 30 }, ...more });

const bandwidth = (achieved: number | null, capacity: number | null) => ({
  bandwidthBitsPerSecond: { capacity, achieved, available: null },
});

const NODES = [
  node("a1", "west", "a"),
  node("a2", "west", "a"),
  node("b1", "west", "b"),
  node("c1", "east", "c"),
];

const AREAS = new AreaIndex(NODES);

describe("pairs of areas between two nodes", () => {
  test("are regions where these differ, else zones, and segments in any case", () => {
    const at = (region: string | null, zone: string | null, segment: string | null = null) => ({
      region,
      zone,
      segment,
    });
    expect(areaPairsBetween(at("r", "a", "s"), at("q", "b", "t"))).toEqual([
      { kind: "region", origin: "r", destination: "q" },
      { kind: "segment", origin: "s", destination: "t" },
    ]);
    expect(areaPairsBetween(at("r", "a"), at("r", "b"))).toEqual([
      { kind: "zone", origin: "a", destination: "b" },
    ]);
    expect(areaPairsBetween(at(null, "a"), at(null, "b"))).toHaveLength(1);
    expect(areaPairsBetween(at("r", "a"), at("r", "a"))).toEqual([]);
    expect(areaPairsBetween(at("r", null), at("r", "b"))).toEqual([]);
    expect(AREAS.keysBetween("a1", "b1")).toEqual(["zone\na\nb"]);
    expect(AREAS.keysBetween("a1", "a2")).toEqual([]);
    expect(AREAS.keysBetween("a1", "gone")).toEqual([]);
    // Zones of the same name in two regions are distinct.
    expect(areaPairsBetween(at("r", "a"), at("q", "a"))).toEqual([
      { kind: "region", origin: "r", destination: "q" },
    ]);
  });
});

describe("costs between areas", () => {
  test("are the median over node pairs of their p90, each direction by itself", () => {
    const graph = snapshotOf(NODES, [
      link("a1", "b1", 4),
      link("a2", "b1", 6),
      link("b1", "a1", 9),
      link("a1", "c1", 40),
      link("a1", "a2", 1),
    ]);
    expect(Object.fromEntries(allSteps(areaCostSteps(graph, AREAS, 90)))).toEqual({
      "zone\na\nb": 5,
      "zone\nb\na": 9,
      "region\nwest\neast": 40,
      "region\neast\nwest": 40,
    });
  });

  test("never mix methods or IP families: the graph's first method that measured the areas counts", () => {
    const graph = {
      ...snapshotOf(NODES, [
        link("a1", "b1", 100, { method: "tcp_rr" }),
        link("a2", "b1", 7, { method: "icmp" }),
        link("a2", "b1", 70, { method: "icmp", ipFamily: 6 }),
      ]),
      costMethods: ["udp_rr" as const, "icmp" as const, "tcp_rr" as const],
    };
    expect(allSteps(areaCostSteps(graph, AREAS, 90)).get("zone\na\nb")).toBe(7);
  });

  test("leave out what is not known: stale, estimated, unanswered or with too few samples", () => {
    const graph = snapshotOf(NODES, [
      link("a1", "b1", 4, { ageSeconds: 91 }),
      link("a1", "b1", 4, { ageSeconds: null, method: "icmp" }),
      link("a2", "b1", 4, { origin: "estimated" }),
      link("a2", "c1", null),
    ]);
    expect(allSteps(areaCostSteps(graph, AREAS, 90)).size).toBe(0);
  });
});

describe("bandwidth between areas", () => {
  test("is the best burst, else the largest declaration", () => {
    const graph = snapshotOf(NODES, [
      link("a1", "b1", 4, { ...bandwidth(2e9, 10e9), bandwidthCapacityOrigin: "declared" }),
      link("a2", "b1", 4, { ...bandwidth(3e9, 4e9), bandwidthCapacityOrigin: "measured" }),
      link("a1", "c1", 4, { ...bandwidth(null, 10e9), bandwidthCapacityOrigin: "declared" }),
      link("a2", "c1", 4, { ...bandwidth(null, 25e9), bandwidthCapacityOrigin: "declared" }),
      link("c1", "a1", 4),
    ]);
    expect(Object.fromEntries(areaCapacities(graph, AREAS))).toEqual({
      "zone\na\nb": 4e9,
      "region\nwest\neast": 25e9,
    });
  });
});
