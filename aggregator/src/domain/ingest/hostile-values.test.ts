import { seededRandom, type Random } from "@isochrone/runtime";
import {
  Distribution,
  OUTCOMES,
  type Attributes,
  type ExponentialHistogramData,
  type Metric,
} from "@isochrone/telemetry";
import { RANGED_METRICS } from "@isochrone/telemetry/testing";
import { parseClusterGraph, parseWorkflowGraph } from "@isochrone/topology/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { clusterState, nodeState } from "../../testing/cluster.ts";
import { gauge, probeMetrics, recordOf } from "../../testing/records.ts";
import { buildClusterGraph } from "../graphs/cluster-graph.ts";
import type { ClusterState } from "../cluster-state.ts";
import { Ingest } from "./ingest.ts";
import { Tables } from "../graphs/tables.ts";
import { buildWorkflows } from "../graphs/workflows.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const LIMITS = { maxLinks: 100, maxChannels: 100, maxPods: 100 };
const OPTIONS = { maxFutureMs: 1000, maxSeries: 10_000, maxSources: 16 };
const RULE = { methods: ["udp_rr", "tcp_rr"], quantile: "p50" } as const;
const NOW = 1_700_000_000_000;
const STAMP = { version: 1, nowMs: NOW };
const SHOP = { namespace: "shop", name: "shop" };
const CLUSTER: ClusterState = clusterState({
  nodes: ["a", "b", "c"].map((name) => nodeState(name)),
  pods: [
    {
      namespace: "shop",
      name: "web-0",
      node: "a",
      workload: { kind: "Deployment", name: "web" },
      workflow: SHOP,
    },
    {
      namespace: "shop",
      name: "db-0",
      node: "b",
      workload: { kind: "Deployment", name: "db" },
      workflow: SHOP,
    },
  ],
});

let tables: Tables;
let ingest: Ingest;
let sequence = 0;

beforeEach(() => {
  tables = new Tables(SHAPE, LIMITS);
  ingest = new Ingest(tables, OPTIONS);
});

function take(metrics: readonly Metric[], node = "a"): void {
  ingest.take(recordOf(node, metrics, { arrivedAtMs: NOW, sequence: ++sequence }), NOW);
}

/** Validates like a reader. Throws if the schema or its rules are violated. */
function graphs(nowMs = NOW) {
  const stamp = { ...STAMP, nowMs };
  const cluster = buildClusterGraph(tables, CLUSTER, RULE, stamp, "full");
  const [workflow] = buildWorkflows(tables, CLUSTER, stamp, "full");
  return {
    cluster: parseClusterGraph(JSON.parse(JSON.stringify(cluster))),
    workflow: parseWorkflowGraph(JSON.parse(JSON.stringify(workflow))),
  };
}

function packets(outcome: string, value: number, monotonic: boolean): Metric {
  const attributes = { destination_node: "b", method: "udp_rr", outcome };
  const points = [{ attributes, startMs: NOW - 1000, timeMs: NOW, value }];
  return { kind: "sum", name: "isochrone.probe.packets", temporality: "delta", monotonic, points };
}

describe("one forged record", () => {
  test("of lost packets below 0 leaves the loss ratio as it was, and the graph readable", () => {
    take(probeMetrics([{ target: "b", timeMs: NOW, rttsMs: [10], outcomes: { sent: 5, received: 5 } }]));
    take([packets("lost", -1, false), packets("lost", -1, true), packets("lost", 2.5e17, true)]);
    expect(graphs().cluster.links[0]).toMatchObject({ source: "a", target: "b", lossRatio: 0 });
    expect(ingest.counts.refused).toMatchObject({ not_monotonic: 1, negative: 1, out_of_range: 1 });
  });

  test("of memory below 0 leaves a pod's memory as it was, and the workflow readable", () => {
    const memory = (value: number): Metric =>
      gauge(
        "container_memory_working_set_bytes",
        { namespace: "shop", pod: "web-0", container: "app" },
        NOW,
        value,
      );
    take([memory(50)]);
    take([memory(-1)]);
    take([memory(1e17)]);
    const { workloads } = graphs().workflow;
    expect(workloads.find(({ name }) => name === "web")!.memoryBytes).toBe(50);
    expect(ingest.counts.refused).toMatchObject({ negative: 1, out_of_range: 1 });
  });

  test("of round trips whose sum, minimum and maximum don't fit their buckets is refused, and counted", () => {
    const honest = new Distribution();
    honest.record(0.01, 10);
    const data = honest.toData();
    const rtt = (change: Partial<ExponentialHistogramData>): Metric => ({
      kind: "exponentialHistogram",
      name: "isochrone.probe.rtt",
      temporality: "delta",
      points: [
        {
          attributes: { destination_node: "b", method: "udp_rr" },
          startMs: NOW - 1000,
          timeMs: NOW,
          data: { ...data, ...change },
        },
      ],
    });
    take([rtt({})]);
    take([rtt({ sum: 100 }), rtt({ min: 0.001 }), rtt({ max: 10 }), rtt({ offset: data.offset + 300 })]);
    expect(graphs().cluster.links[0]!.rttMs.count).toBe(10);
    expect(ingest.counts.refused.out_of_range).toBe(4);
  });
});

const NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.2,
  1e-300,
  1e9,
  1e15,
  1e18,
  -1e18,
  1e300,
  2 ** 53,
  5e-324,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
];

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random.next() * from.length)]!;
}

function hostileAttributes(random: Random): Attributes {
  return {
    destination_node: pick(random, ["a", "b", "c", "x"]),
    method: pick(random, ["udp_rr", "tcp_rr"]),
    outcome: pick(random, OUTCOMES),
    transport: "tcp",
    namespace: "shop",
    pod: pick(random, ["web-0", "db-0"]),
    container: pick(random, ["app", ""]),
    interface: "eth0",
    id: pick(random, ["/", ""]),
    direction: "receive",
    reporter: pick(random, ["source", "destination"]),
    source_workload: "web",
    source_workload_namespace: "shop",
    destination_workload: "db",
    destination_workload_namespace: "shop",
    client: "web",
    server: "db",
    response_code: pick(random, ["200", "503"]),
  };
}

function hostileMetric(random: Random): Metric {
  const number = (): number => pick(random, NUMBERS);
  const timeMs = NOW - Math.floor(random.next() * 20_000);
  const head = {
    attributes: hostileAttributes(random),
    timeMs,
    startMs: timeMs - pick(random, [0, 1, 1000, 1e9]),
  };
  const name = pick(random, RANGED_METRICS);
  const temporality = pick(random, ["delta", "cumulative"] as const);
  switch (pick(random, ["gauge", "sum", "histogram", "exponentialHistogram"] as const)) {
    case "gauge":
      return { kind: "gauge", name, points: [{ ...head, value: number() }] };
    case "sum":
      return {
        kind: "sum",
        name,
        temporality,
        monotonic: random.next() < 0.8,
        points: [{ ...head, value: number() }],
      };
    case "histogram": {
      const data = {
        count: pick(random, [0, 1, 5, 2 ** 53 - 1]),
        sum: number(),
        explicitBounds: [],
        bucketCounts: [],
      };
      return { kind: "histogram", name, temporality, points: [{ ...head, ...data }] };
    }
    default: {
      const distribution = new Distribution();
      distribution.record(pick(random, [0, 1e-9, 0.01, 59, 1e6]), pick(random, [1, 1e9, 2 ** 40]));
      const data = {
        ...distribution.toData(),
        ...(random.next() < 0.5 ? {} : { sum: number(), max: number() }),
      };
      return { kind: "exponentialHistogram", name, temporality, points: [{ ...head, data }] };
    }
  }
}

describe("whatever is sent", () => {
  test.each(Array.from({ length: 40 }, (_, seed) => seed))(
    "the graphs follow their schema (seed %i)",
    (seed) => {
      const random = seededRandom(seed);
      for (let round = 0; round < 40; round++) {
        take(
          Array.from({ length: 10 }, () => hostileMetric(random)),
          pick(random, ["a", "b", "c"]),
        );
      }
      expect(graphs().cluster.nodes).toHaveLength(3);
      graphs(NOW + 10_000);
      expect(ingest.counts.points).toBeGreaterThan(50);
    },
  );
});

describe("what is in the windows nevertheless", () => {
  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 1e300])(
    "is unknown in the graphs, and counted: %d",
    (value) => {
      const at = { startMs: NOW, timeMs: NOW, eventMs: NOW, offsetMs: 0, clockGeneration: 0, nowMs: NOW };
      const link = tables.links.open({ source: "a", target: "b", method: "udp_rr", ipFamily: 4 })!;
      link.addPackets(at, "received", 5);
      link.addPackets(at, "lost", value);
      link.addVariation(at, "variationSeconds", value);
      link.addVariation(at, "variationCount", 1);
      for (const usage of [tables.nodes.open("a")!, tables.pods.open("shop/web-0")!]) {
        usage.memoryLevel({ source: "cadvisor", container: null }).take(NOW, value);
        usage.counter("cadvisorCpu").take({ fromMs: NOW - 1000, toMs: NOW, delta: value, reset: false });
        usage.counter("cgroupReceive").take({ fromMs: NOW - 1000, toMs: NOW, delta: value, reset: false });
      }
      const { cluster, workflow } = graphs();
      expect(cluster.links[0]).toMatchObject({ jitterMs: null });
      expect(cluster.nodes[0]).toMatchObject({
        availableMemoryBytes: null,
        networkReceiveBitsPerSecond: null,
      });
      expect(workflow.workloads.find(({ name }) => name === "web")!.memoryBytes).toBeNull();
      expect(tables.figures.dropped).toBeGreaterThan(4);
    },
  );
});
