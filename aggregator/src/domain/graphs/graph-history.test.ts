import type { ClusterGraphSnapshot, Demand, Link, WorkflowGraphSnapshot } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { GraphHistory } from "./graph-history.ts";
import type { PublishedGraphs } from "./graph-keeper.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

function link(source: string, target: string, p50: number | null, more: Partial<Link> = {}): Link {
  return {
    source,
    target,
    method: "udp_rr",
    ipFamily: 4,
    rttMs: { p50, p90: null, p99: null, mean: p50, count: p50 === null ? 0 : 30 },
    lossRatio: p50 === null ? 1 : 0,
    jitterMs: null,
    bandwidthBitsPerSecond: { capacity: 10e9, achieved: null, available: null },
    costMs: p50,
    errorMs: null,
    origin: "measured",
    provisional: false,
    ageSeconds: 2,
    observedAt: new Date(NOW - 2000).toISOString(),
    ...more,
  };
}

function graphs(version: number, builtAtMs: number, links: Link[]): PublishedGraphs {
  const cluster: ClusterGraphSnapshot = {
    version,
    observedAt: new Date(builtAtMs).toISOString(),
    windowSeconds: 30,
    nodes: [],
    links,
  };
  const { observedAt } = cluster;
  const demand: Demand = { version, observedAt, windowSeconds: 30, services: [] };
  return {
    version,
    builtAtMs,
    coordinates: null,
    nodes: cluster.nodes,
    cluster: () => cluster,
    workflows: () => new Map(),
    demand: () => demand,
  };
}

const history = (options: { maxBytes?: number; horizonMs?: number } = {}): GraphHistory =>
  new GraphHistory({ horizonMs: 3_600_000, minGapMs: 10_000, maxBytes: 1e6, ...options });

describe("the graphs of former moments", () => {
  test("come back as they were, but for digits that nobody measured", () => {
    const kept = history();
    const links = [
      link("a", "b", 12.5),
      link("b", "a", null, { method: "icmp", ipFamily: 6, origin: "estimated", provisional: true }),
      link("c", "a", 1, { bandwidthCapacityOrigin: "measured", bandwidthTransport: null }),
    ];
    kept.keep(graphs(1, NOW, links));
    expect(kept.at(NOW).cluster("full")).toEqual(graphs(1, NOW, links).cluster("full"));
    expect(kept.at(NOW + 5000).version).toBe(1);
  });

  test("are not kept closer together than 10 s, and no longer than asked", () => {
    const kept = history({ horizonMs: 30_000 });
    for (let second = 0; second <= 60; second += 5) kept.keep(graphs(second, NOW + second * 1000, []));
    expect(kept.times().map((time) => (Date.parse(time) - NOW) / 1000)).toEqual([30, 40, 50, 60]);
    expect(() => kept.at(NOW + 20_000)).toThrow("no graph is stored for 2026-01-01T00:00:20.000Z");
  });

  test("are thinned out evenly where there are many links", () => {
    const kept = history({ maxBytes: 54 * 8 });
    for (let index = 0; index < 100; index++)
      kept.keep(graphs(index, NOW + index * 10_000, [link("a", "b", index)]));
    const times = kept.times().map((time) => (Date.parse(time) - NOW) / 10_000);
    expect(times).toHaveLength(8);
    expect([times[0], times.at(-1)]).toEqual([0, 99]);
    const gaps = times.slice(1).map((time, index) => time - times[index]!);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(34);
  });

  test("share the pods that stay where they were, and are thinned out by those that don't", () => {
    const withPods = (version: number, nodes: readonly string[]): PublishedGraphs => ({
      ...graphs(version, NOW + version * 10_000, []),
      workflows: () => {
        const pods = nodes.map((node, index) => ({ name: `web-${index}`, node }));
        const workload = { name: "web", kind: "Deployment", namespace: "shop", pods };
        const graph = {
          version,
          observedAt: "",
          namespace: "shop",
          name: "shop",
          workloads: [workload],
          channels: [],
        };
        return new Map([["shop/shop", graph as unknown as WorkflowGraphSnapshot]]);
      },
    });
    const podsAt = (kept: GraphHistory, version: number) =>
      kept
        .at(NOW + version * 10_000)
        .workflows("full")
        .get("shop/shop")!.workloads[0]!.pods;
    const same = Array.from({ length: 100 }, () => "n1");
    const shared = history({ maxBytes: 15_000 });
    for (let version = 0; version < 10; version++) shared.keep(withPods(version, same));
    expect(shared.times()).toHaveLength(10);
    expect(podsAt(shared, 9)).toBe(podsAt(shared, 0));
    const moving = history({ maxBytes: 15_000 });
    for (let version = 0; version < 10; version++) moving.keep(withPods(version, same.with(version, "n2")));
    expect(moving.times().length).toBeLessThan(4);
    expect(podsAt(moving, 9)[9]).toEqual({ name: "web-9", node: "n2" });
  });

  test("tell how a pair was, also where it comes and goes", () => {
    const kept = history();
    kept.keep(graphs(1, NOW, [link("a", "b", 10)]));
    kept.keep(graphs(2, NOW + 10_000, []));
    kept.keep(graphs(3, NOW + 20_000, [link("a", "b", 30)]));
    const { method, points } = kept.link("a", "b", ["icmp", "udp_rr"]);
    expect(method).toBe("udp_rr");
    expect(points.map(({ p50Ms }) => p50Ms)).toEqual([10, 30]);
    expect(kept.link("b", "a", ["udp_rr"])).toMatchObject({ method: null, points: [] });
  });

  test("are of the full window only", () => {
    const kept = history();
    kept.keep(graphs(1, NOW, []));
    expect(() => kept.at(NOW).cluster("fast")).toThrow("full window");
  });
});
