import { ClusterGraph, type ClusterGraphSnapshot, type Link } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { clusterState, nodeState } from "../../testing/cluster.ts";
import { probeMetrics, recordOf } from "../../testing/records.ts";
import { buildClusterGraph } from "./cluster-graph.ts";
import type { CostRule } from "./cost-rule.ts";
import { withEstimated } from "./coordinate-links.ts";
import { Ingest } from "../ingest/ingest.ts";
import { Tables } from "./tables.ts";
import { readLatencies, withLatencies, type NodeLatency } from "./node-latencies.ts";

const key = (source: string, target: string, figure = "p90"): string =>
  `netperf.${figure}.latency.milliseconds.origin.${source}.destination.${target}`;

describe("a ConfigMap of latencies", () => {
  test("is read as upstream's netperf component writes it, and what names no pair is left out and counted", () => {
    // Example of diktyo-io's netperf component. Its second line of n2 names n2 twice.
    const example = {
      [key("n1", "n2")]: "60",
      [key("n1", "n3")]: "109",
      [key("n2", "n1")]: "60",
      [key("n2", "n2")]: "109",
      [key("n2", "n3")]: "10",
    };
    const { pairs, faults, firstFault } = readLatencies(example);
    expect(pairs).toEqual([
      { source: "n1", target: "n2", ms: { p90: 60 } },
      { source: "n1", target: "n3", ms: { p90: 109 } },
      { source: "n2", target: "n1", ms: { p90: 60 } },
      { source: "n2", target: "n3", ms: { p90: 10 } },
    ]);
    expect(faults).toEqual({ bad_key: 1, bad_value: 0, too_large: 0 });
    expect(firstFault).toContain("n2.destination.n2");
  });

  test("has several figures of a pair, fractions, and microseconds as older exporters write them", () => {
    const { pairs, faults } = readLatencies({
      [key("n1", "n2", "p50")]: "0.35",
      [key("n1", "n2", "p90")]: "1.5",
      [key("n1", "n2", "p99")]: "9",
      "netperf_p90_latency_microseconds.origin.node-a.example.com.destination.node-b.example.com": "610",
      "somebody.elses": "x",
    });
    expect(pairs).toEqual([
      { source: "n1", target: "n2", ms: { p50: 0.35, p90: 1.5 } },
      { source: "node-a.example.com", target: "node-b.example.com", ms: { p90: 0.61 } },
    ]);
    expect(faults).toEqual({ bad_key: 0, bad_value: 0, too_large: 0 });
  });

  test.each<[string, unknown]>([
    ["0, by which upstream means that nothing was measured", "0"],
    ["below 0", "-5"],
    ["more than a minute", "60001"],
    ["not finite", "Infinity"],
    ["no number", "fast"],
    ["hexadecimal", "0x10"],
    ["an exponent", "1e3"],
    ["empty", ""],
    ["most of a megabyte of digits", "9".repeat(1_000_000)],
    ["no text", 5],
    ["null", null],
  ])("with a value that is %s says nothing of the pair, and names it", (_, value) => {
    const { pairs, faults, firstFault } = readLatencies({ [key("n1", "n2")]: value, [key("n1", "n3")]: "7" });
    expect(pairs).toEqual([{ source: "n1", target: "n3", ms: { p90: 7 } }]);
    expect(faults).toEqual({ bad_key: 0, bad_value: 1, too_large: 0 });
    expect(firstFault).toContain("n1.destination.n2 must be above 0 and at most 60000, got ");
    expect(firstFault!.length).toBeLessThan(500);
  });

  test.each([
    "netperf.p90.latency.milliseconds",
    "netperf.p90.latency.milliseconds.origin.n1",
    "netperf.p42.latency.milliseconds.origin.n1.destination.n2",
    "netperf.p90.latency.furlongs.origin.n1.destination.n2",
    "netperf.p90.latency.milliseconds.origin.N1.destination.n2",
    "netperf.p90.latency.milliseconds.origin.n1.destination.__proto__",
    "netperf.p90.latency.milliseconds.origin.\u001b[2J.destination.n2",
  ])("with the key %j says nothing, and is counted", (name) => {
    const { pairs, faults, firstFault } = readLatencies({ [name]: "5" });
    expect(pairs).toEqual([]);
    expect(faults).toEqual({ bad_key: 1, bad_value: 0, too_large: 0 });
    expect(firstFault).toContain("must be netperf.p90.latency.milliseconds.origin.<node>.destination.<node>");
  });
});

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const LIMITS = { maxLinks: 10, maxChannels: 10, maxPods: 10 };
const OPTIONS = { maxFutureMs: 1000, maxSeries: 1000, maxSources: 10 };
const NOW = 1_700_000_000_000;
const CLUSTER = clusterState({ nodes: [nodeState("a"), nodeState("b"), nodeState("c")] });

interface Measured {
  readonly target: string;
  readonly method?: string;
  readonly rttsMs?: readonly number[];
  readonly outcomes?: Readonly<Record<string, number>>;
}

function graphOf(
  measured: readonly Measured[],
  latencies: readonly NodeLatency[],
  rule: Partial<CostRule> = {},
) {
  const full: CostRule = { methods: ["udp_rr", "tcp_rr"], quantile: "p50", ...rule };
  const tables = new Tables(SHAPE, LIMITS);
  const ingest = new Ingest(tables, OPTIONS);
  const samples = measured.map((one) => ({ ...one, timeMs: NOW }));
  if (samples.length > 0) ingest.take(recordOf("a", probeMetrics(samples), { arrivedAtMs: NOW }), NOW);
  const graph = buildClusterGraph(tables, CLUSTER, full, { version: 1, nowMs: NOW }, "full");
  return { ...withLatencies(graph, latencies, full, tables.linkOrder), rule: full, order: tables.linkOrder };
}

const latency = (source: string, target: string, ms: NodeLatency["ms"]): NodeLatency => ({
  source,
  target,
  ms,
});
const costs = (graph: ClusterGraphSnapshot): unknown[] =>
  graph.links.map(({ source, target, costMs, origin }: Link) => [source, target, costMs, origin]);

describe("latencies of another component in a cluster graph", () => {
  test("are the costs of pairs that nothing here measures", () => {
    const { graph, use } = graphOf([], [latency("a", "b", { p90: 60 }), latency("b", "a", { p90: 40 })]);
    expect(costs(graph)).toEqual([
      ["a", "b", 60, "declared"],
      ["b", "a", 40, "declared"],
    ]);
    expect(use).toEqual({ used: 2, measured: 0, unknownNode: 0 });
    const looked = new ClusterGraph(graph);
    expect(looked.cost("a", "b")).toMatchObject({ known: true, ms: 60, origin: "declared", method: null });
    expect(looked.cost("a", "c")).toMatchObject({ known: false });
  });

  test("never override a measurement, by whatever method it was made, nor a pair that was probed in vain", () => {
    const measured = [
      { target: "b", method: "tcp_rr", rttsMs: [10, 10] },
      { target: "c", outcomes: { sent: 5, lost: 5 } },
    ];
    const told = [
      latency("a", "b", { p90: 1 }),
      latency("a", "c", { p90: 1 }),
      latency("b", "c", { p90: 7 }),
    ];
    const { graph, use } = graphOf(measured, told);
    const looked = new ClusterGraph(graph);
    expect(looked.cost("a", "b")).toMatchObject({ ms: 10, origin: "measured" });
    expect(looked.cost("a", "c")).toEqual({ known: false, reason: "unreachable" });
    expect(looked.cost("b", "c")).toMatchObject({ ms: 7, origin: "declared" });
    expect(use).toEqual({ used: 1, measured: 2, unknownNode: 0 });
  });

  test("leave one link of each pair and method, also where a probe has no figure yet, and stay in the graph's order", () => {
    // A 90th percentile needs 20 samples.
    const rule = { quantile: "p90" } as const;
    const told = [latency("c", "a", { p90: 9 }), latency("a", "b", { p90: 60 })];
    const { graph } = graphOf([{ target: "b", rttsMs: [10] }], told, rule);
    expect(costs(graph)).toEqual([
      ["a", "b", 60, "declared"],
      ["c", "a", 9, "declared"],
    ]);
  });

  test("give the figure that costs are of, else the 90th percentile, else what there is", () => {
    const told = [latency("a", "b", { p50: 1, p90: 2, mean: 3 }), latency("b", "a", { p50: 4 })];
    for (const [quantile, ms] of [
      ["p50", 1],
      ["p90", 2],
      ["mean", 3],
    ] as const)
      expect(costs(graphOf([], told, { quantile }).graph)[0]).toEqual(["a", "b", ms, "declared"]);
    const without = [latency("a", "b", { p90: 2 }), latency("b", "a", { p50: 4 })];
    expect(costs(graphOf([], without, { quantile: "mean" }).graph)).toEqual([
      ["a", "b", 2, "declared"],
      ["b", "a", 4, "declared"],
    ]);
  });

  test("of nodes that the cluster doesn't have make none", () => {
    const { graph, use } = graphOf(
      [],
      [latency("a", "gone", { p90: 60 }), latency("gone", "b", { p90: 60 })],
    );
    expect(graph.links).toEqual([]);
    expect(use).toEqual({ used: 0, measured: 0, unknownNode: 2 });
  });

  test("stay what they are beside estimates", () => {
    const { graph, rule, order } = graphOf([], [latency("a", "b", { p90: 60 })]);
    const estimate = { estimate: () => ({ rttMs: 5, errorMs: 1 }), ageMs: () => 0, info: { sampledMs: NOW } };
    const links = withEstimated(graph, estimate as never, rule, order);
    expect(links.filter(({ source, target }) => source === "a" && target === "b")).toHaveLength(1);
    expect(links.find(({ source, target }) => source === "a" && target === "b")).toMatchObject({
      costMs: 60,
    });
    expect(links).toHaveLength(6);
  });
});
