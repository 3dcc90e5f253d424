import type { Metric } from "@isochrone/telemetry";
import type { ClusterGraphSnapshot, Link } from "@isochrone/topology";
import { beforeEach, describe, expect, test } from "vitest";
import { clusterState, nodeState } from "../../testing/cluster.ts";
import { bandwidthTest, counter, gauge, probeMetrics, recordOf } from "../../testing/records.ts";
import { buildClusterGraph } from "../graphs/cluster-graph.ts";
import type { NodeState } from "../cluster-state.ts";
import { Ingest } from "../ingest/ingest.ts";
import { Tables } from "../graphs/tables.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const LIMITS = {
  maxLinks: 6,
  maxChannels: 10,
  maxPods: 10,
  bandwidthMaxAgeMs: 1_800_000,
  bandwidthCapacityWindowMs: 86_400_000,
};
const RULE = { methods: ["udp_rr", "tcp_rr"], quantile: "p50" } as const;
const NOW = 1_700_000_000_000;
const MINUTE_MS = 60_000;

let tables: Tables;
let ingest: Ingest;

beforeEach(() => {
  tables = new Tables(SHAPE, LIMITS);
  ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 1000, maxSources: 10 });
});

function take(node: string, metrics: readonly Metric[], atMs: number): void {
  ingest.take(recordOf(node, metrics, { arrivedAtMs: atMs }), atMs);
}

function graph(
  nowMs: number,
  nodes: readonly NodeState[] = [nodeState("a"), nodeState("b")],
): ClusterGraphSnapshot {
  tables.expire(nowMs, () => false);
  return buildClusterGraph(tables, clusterState({ nodes }), RULE, { version: 1, nowMs }, "full");
}

const shown = ({ source, target, bandwidthBitsPerSecond: { capacity, achieved, available } }: Link) => ({
  pair: source + target,
  capacity,
  achieved,
  available,
});

function useNetwork(
  node: string,
  interfaceName: string,
  receivedBytes: number,
  sentBytes: number,
  nowMs: number,
): void {
  const row = { id: "/", interface: interfaceName };
  for (const [atMs, share] of [
    [nowMs - 10_000, 0],
    [nowMs, 1],
  ] as const) {
    const received = counter(
      "container_network_receive_bytes_total",
      row,
      atMs,
      1e12 + share * receivedBytes,
    );
    const sent = counter("container_network_transmit_bytes_total", row, atMs, 1e12 + share * sentBytes);
    take(node, [received, sent], atMs);
  }
}

const declaring = (name: string, networkCapacityBitsPerSecond: number | null): NodeState =>
  nodeState(name, { networkCapacityBitsPerSecond });

describe("the bandwidth of a link", () => {
  test("is what the newest burst achieved, the same for all methods of the pair, with its time", () => {
    take("a", [bandwidthTest("b", "tcp", NOW - 4000, 90e6), bandwidthTest("b", "tcp", NOW, 80e6)], NOW);
    const methods = ["udp_rr", "tcp_connect"].flatMap((method) =>
      probeMetrics([{ target: "b", method, timeMs: NOW, rttsMs: [1] }]),
    );
    take("a", methods, NOW);
    take("b", probeMetrics([{ target: "a", timeMs: NOW, rttsMs: [1] }]), NOW);
    const { links } = graph(NOW + 1000);
    expect(links.map(shown)).toEqual([
      { pair: "ab", capacity: 90e6, achieved: 80e6, available: null },
      { pair: "ab", capacity: 90e6, achieved: 80e6, available: null },
      { pair: "ba", capacity: null, achieved: null, available: null },
    ]);
    expect(links[0]).toMatchObject({
      method: "udp_rr",
      bandwidthCapacityOrigin: "measured",
      bandwidthTransport: "tcp",
      bandwidthObservedAt: new Date(NOW).toISOString(),
    });
    expect(links[2]).not.toHaveProperty("bandwidthObservedAt");
  });

  test("stays known long after the round-trip times have left their window, the capacity longer still", () => {
    take("a", [bandwidthTest("b", "tcp", NOW, 80e6)], NOW);
    expect(graph(NOW + 29 * MINUTE_MS).links.map(shown)).toMatchObject([{ achieved: 80e6, capacity: 80e6 }]);
    const later = NOW + 31 * MINUTE_MS;
    take("a", probeMetrics([{ target: "b", timeMs: later, rttsMs: [1] }]), later);
    expect(graph(later).links.map(shown)).toMatchObject([{ achieved: null, capacity: 80e6 }]);
    const nextDay = NOW + 25 * 60 * MINUTE_MS;
    take("a", probeMetrics([{ target: "b", timeMs: nextDay, rttsMs: [1] }]), nextDay);
    expect(graph(nextDay).links.map(shown)).toMatchObject([{ achieved: null, capacity: null }]);
    expect(tables.bandwidth.size).toBe(0);
  });

  test("comes from TCP where both transports were tested, and from UDP where TCP wasn't", () => {
    take("a", [bandwidthTest("b", "tcp", NOW, 70e6), bandwidthTest("b", "udp", NOW + 1, 95e6)], NOW);
    take("b", [bandwidthTest("a", "udp", NOW, 60e6)], NOW);
    expect(
      graph(NOW).links.map((link) => [link.bandwidthTransport, link.bandwidthBitsPerSecond.achieved]),
    ).toEqual([
      ["tcp", 70e6],
      ["udp", 60e6],
    ]);
  });

  test("of a pair without round-trip times is a link of its own, in the graph's order and without a cost", () => {
    const nodes = ["a", "b", "c", "d"].map((name) => nodeState(name));
    for (const [source, target] of ["ab", "ad", "ca", "dc"])
      take(source!, [bandwidthTest(target!, "tcp", NOW, 5e6)], NOW);
    for (const [source, target] of ["ac", "ad", "ba", "da"])
      take(source!, probeMetrics([{ target: target!, timeMs: NOW, rttsMs: [1] }]), NOW);
    const { links } = graph(NOW, nodes);
    expect(
      links.map(({ source, target, costMs, bandwidthBitsPerSecond: { achieved } }) => [
        source + target,
        costMs === null,
        achieved,
      ]),
    ).toEqual([
      ["ab", true, 5e6],
      ["ac", false, null],
      ["ad", false, 5e6],
      ["ba", false, null],
      ["ca", true, 5e6],
      ["da", false, null],
      ["dc", true, 5e6],
    ]);
    expect(links[0]).toMatchObject({
      origin: "measured",
      rttMs: { count: 0 },
      lossRatio: null,
      ageSeconds: null,
    });
  });

  test("of nodes that are gone is no link", () => {
    take("a", [bandwidthTest("ghost", "tcp", NOW, 5e6)], NOW);
    expect(graph(NOW).links).toEqual([]);
  });
});

describe("declared capacity", () => {
  test("is the smaller of both ends', and alone makes a declared link without figures", () => {
    const { links } = graph(NOW, [declaring("a", 10e9), declaring("b", 1e9), declaring("c", null)]);
    expect(links.map(shown)).toEqual([
      { pair: "ab", capacity: 1e9, achieved: null, available: null },
      { pair: "ba", capacity: 1e9, achieved: null, available: null },
    ]);
    expect(links[0]).toMatchObject({ origin: "declared", costMs: null, rttMs: { p50: null, count: 0 } });
    expect(links[0]!.bandwidthCapacityOrigin).toBe("declared");
  });

  test("beats the best burst, which is shown beside it", () => {
    take("a", [bandwidthTest("b", "tcp", NOW, 940e6)], NOW);
    const [link] = graph(NOW, [declaring("a", 1e9), declaring("b", 1e9)]).links;
    expect(link).toMatchObject({ origin: "measured", bandwidthCapacityOrigin: "declared" });
    expect(shown(link!)).toMatchObject({ capacity: 1e9, achieved: 940e6 });
  });

  test("of one end alone is a bound and no capacity", () => {
    take("a", [bandwidthTest("b", "tcp", NOW, 940e6)], NOW);
    const [link] = graph(NOW, [declaring("a", 10e9), declaring("b", null)]).links;
    expect(link).toMatchObject({ bandwidthCapacityOrigin: "measured" });
    expect(shown(link!)).toMatchObject({ capacity: 940e6 });
  });

  test("lists no pair for it in a large cluster, where its nodes tell it", () => {
    const nodes = Array.from({ length: 65 }, (_, index) => declaring(`n${index}`, 1e9));
    const { links, nodes: shownNodes } = graph(NOW, nodes);
    expect(links).toEqual([]);
    expect(shownNodes[64]).toMatchObject({ networkCapacityBitsPerSecond: 1e9 });
  });
});

describe("what is available", () => {
  test("is each end's declared capacity less what its own interfaces carry, the tighter of the two", () => {
    useNetwork("a", "eth0", 0, 6.25e8, NOW);
    useNetwork("b", "eth0", 1.25e8, 0, NOW);
    const { links, nodes } = graph(NOW, [declaring("a", 10e9), declaring("b", 1e9)]);
    expect(nodes.map(({ networkTransmitBitsPerSecond: sent }) => sent)).toEqual([5e8, 0]);
    expect(nodes.map(({ networkReceiveBitsPerSecond: received }) => received)).toEqual([0, 1e8]);
    // a sends 0.5 of 10 Gbit/s, b receives 0.1 of 1 Gbit/s. Nothing flows in the other direction.
    expect(links.map(shown)).toMatchObject([
      { pair: "ab", available: 9e8 },
      { pair: "ba", available: 1e9 },
    ]);
  });

  test("is the measured capacity less what the busier end carries", () => {
    useNetwork("a", "eth0", 0, 6.25e7, NOW);
    useNetwork("b", "eth0", 1.25e7, 0, NOW);
    take("a", [bandwidthTest("b", "tcp", NOW, 2e8)], NOW);
    expect(graph(NOW).links.map(shown)).toMatchObject([{ capacity: 2e8, available: 1.5e8 }]);
  });

  test("is never less than nothing", () => {
    useNetwork("a", "eth0", 0, 6.25e8, NOW);
    useNetwork("b", "eth0", 0, 0, NOW);
    take("a", [bandwidthTest("b", "tcp", NOW, 2e8)], NOW);
    expect(graph(NOW).links.map(shown)).toMatchObject([{ available: 0 }]);
  });

  test("isn't known while the use of one end isn't", () => {
    useNetwork("a", "eth0", 0, 6.25e7, NOW);
    const { links } = graph(NOW, [declaring("a", 1e9), declaring("b", 1e9)]);
    expect(links.map(shown)).toMatchObject([{ available: null }, { available: null }]);
  });
});

describe("bandwidth that can't be believed", () => {
  test("no rate at all and impossible ones are left out and counted", () => {
    take("a", [bandwidthTest("b", "tcp", NOW, 0), bandwidthTest("b", "tcp", NOW + 1, 1e16)], NOW);
    expect(graph(NOW).links).toEqual([]);
    expect(tables.bandwidth.refused).toBe(2);
  });

  test("without a known transport or target is unattributed, a sum under its name isn't taken for it", () => {
    const name = "isochrone.probe.bandwidth";
    take("a", [gauge(name, { destination_node: "b", transport: "sctp" }, NOW, 1e6)], NOW);
    take("a", [gauge(name, { transport: "tcp" }, NOW, 1e6)], NOW);
    take("a", [counter(name, { destination_node: "b", transport: "tcp" }, NOW, 1e6, NOW - 1)], NOW);
    expect(ingest.counts.unused).toMatchObject({ unattributed: 2, unknown_metric: 1 });
    expect(tables.bandwidth.size).toBe(0);
  });

  test("an older burst that arrives late doesn't replace the newer one", () => {
    take("a", [bandwidthTest("b", "tcp", NOW, 80e6)], NOW);
    take("a", [bandwidthTest("b", "udp", NOW, 1e6)], NOW);
    const late = recordOf("a", [bandwidthTest("b", "tcp", NOW - 3000, 10e6)], {
      arrivedAtMs: NOW,
      sequence: 7,
    });
    ingest.take(late, NOW);
    expect(graph(NOW).links.map(shown)).toMatchObject([{ achieved: 80e6 }]);
  });

  test("pairs beyond the bound are counted and left out", () => {
    for (let peer = 0; peer < 8; peer++) take("a", [bandwidthTest(`n${peer}`, "tcp", NOW, 1e6)], NOW);
    expect(tables.bandwidth.size).toBe(6);
    expect(ingest.counts.unused.too_many_links).toBe(2);
  });

  test("a pair that was dropped comes back with its next test", () => {
    take("a", [bandwidthTest("b", "tcp", NOW, 1e6)], NOW);
    const later = NOW + 26 * 60 * MINUTE_MS;
    expect(graph(later).links).toEqual([]);
    take("a", [bandwidthTest("b", "tcp", later, 2e6)], later);
    expect(graph(later).links.map(shown)).toMatchObject([{ achieved: 2e6, capacity: 2e6 }]);
  });

  test("how tests ended and what they cost is known and of no use to a graph", () => {
    const attributes = { destination_node: "b", transport: "tcp", result: "ok" };
    for (const name of ["isochrone.probe.bandwidth.tests", "isochrone.probe.bandwidth.bytes"])
      take("a", [counter(name, attributes, NOW, 1, NOW - 1000, "delta")], NOW);
    expect(ingest.counts.unused.unknown_metric).toBe(0);
    expect([tables.bandwidth.size, tables.links.size]).toEqual([0, 0]);
  });
});
