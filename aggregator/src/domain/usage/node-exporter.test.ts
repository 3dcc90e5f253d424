import { type Attributes, type Metric } from "@isochrone/telemetry";
import { describe, expect, test } from "vitest";
import { clusterState, nodeState } from "../../testing/cluster.ts";
import { counter, gauge, recordOf } from "../../testing/records.ts";
import { buildClusterGraph } from "../graphs/cluster-graph.ts";
import { Ingest } from "../ingest/ingest.ts";
import { Tables } from "../graphs/tables.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const LIMITS = { maxLinks: 10, maxChannels: 10, maxPods: 10 };
const OPTIONS = { maxFutureMs: 1000, maxSeries: 1000, maxSources: 10 };
const RULE = { methods: ["udp_rr"], quantile: "p50" } as const;
const NOW = 1_700_000_000_000;
const STEP_MS = 2000;
const STEP_SECONDS = STEP_MS / 1000;
/** Idle seconds of a node that booted long ago. */
const SINCE_BOOT = 4_000_000;

interface Way {
  readonly tables: Tables;
  readonly ingest: Ingest;
  take(metrics: readonly Metric[], atMs: number): void;
}

function openWay(): Way {
  const tables = new Tables(SHAPE, LIMITS);
  const ingest = new Ingest(tables, OPTIONS);
  return {
    tables,
    ingest,
    take: (metrics, atMs) => void ingest.take(recordOf("n", metrics, { arrivedAtMs: atMs }), atMs),
  };
}

const atMs = (step: number): number => NOW + step * STEP_MS;

/** A page of two CPUs with these idle shares, as relayed by Prometheus or an OpenTelemetry Collector. */
function exporter(step: number, idle: readonly number[], availableBytes: number): Metric[] {
  const cpu = (labels: Attributes, seconds: number): Metric =>
    counter("node_cpu_seconds_total", labels, atMs(step), seconds);
  return [
    ...idle.flatMap((share, i) => [
      cpu({ cpu: String(i), mode: "idle" }, SINCE_BOOT + step * STEP_SECONDS * share),
      cpu({ cpu: String(i), mode: "user" }, step * STEP_SECONDS * (1 - share)),
      cpu({ cpu: String(i), mode: "iowait" }, step * STEP_SECONDS),
    ]),
    gauge("node_memory_MemAvailable_bytes", {}, atMs(step), availableBytes),
  ];
}

function availableOn({ tables }: Way, step: number): (number | null)[] {
  const node = {
    ...nodeState("n"),
    allocatableCpuMillicores: 4000,
    allocatableMemoryBytes: 8e9,
  };
  const stamp = { version: 1, nowMs: atMs(step) };
  const [built] = buildClusterGraph(tables, clusterState({ nodes: [node] }), RULE, stamp, "full").nodes;
  const { availableCpuMillicores: cpu, availableMemoryBytes: memory } = built!;
  return [cpu === null ? null : Math.round(cpu * 1e6) / 1e6, memory];
}

describe("node_exporter", () => {
  test("says what a node has available: idle time of all its CPUs, and the memory that is available", () => {
    const way = openWay();
    for (let step = 0; step <= 5; step++) way.take(exporter(step, [0.9, 0.6], 3e9), atMs(step));
    // 0.9 and 0.6 cores are idle, and 3 GB are available.
    expect(availableOn(way, 5)).toEqual([1500, 3e9]);
  });

  test("is not believed to have more than pods may be given", () => {
    const way = openWay();
    for (let step = 0; step <= 5; step++) way.take(exporter(step, [1, 1, 1, 1, 1], 9e9), atMs(step));
    expect(availableOn(way, 5)).toEqual([4000, 8e9]);
  });

  test("counts where no kubelet tells what is used, and gives way to one at once", () => {
    const way = openWay();
    const kubelet = (step: number): Metric[] => [
      counter("container_cpu_usage_seconds_total", { id: "/" }, atMs(step), step * STEP_SECONDS),
      gauge("container_memory_working_set_bytes", { id: "/" }, atMs(step), 2e9),
    ];
    for (let step = 0; step <= 2; step++) way.take(exporter(step, [0.9, 0.6], 3e9), atMs(step));
    for (let step = 3; step <= 5; step++)
      way.take([...exporter(step, [0.9, 0.6], 3e9), ...kubelet(step)], atMs(step));
    // One of 4 cores and 2 of 8 GB are used.
    expect(availableOn(way, 5)).toEqual([3000, 6e9]);
    // The kubelet is forgotten a window after its last report.
    const silent = 5 + SHAPE.windowMs / STEP_MS;
    for (let step = 6; step <= silent; step++) way.take(exporter(step, [0.9, 0.6], 3e9), atMs(step));
    expect(availableOn(way, silent)).toEqual([1500, 3e9]);
  });

  test("that starts anew, with the time of its start as that of its counters, doesn't make a node idle for years", () => {
    const way = openWay();
    const restarted = (step: number): Metric[] =>
      exporter(step, [0.5], 3e9).map((metric) =>
        metric.kind === "sum"
          ? { ...metric, points: metric.points.map((point) => ({ ...point, startMs: NOW - 1000 })) }
          : metric,
      ) as Metric[];
    for (let step = 0; step <= 5; step++) way.take(restarted(step), atMs(step));
    expect(availableOn(way, 5)).toEqual([500, 3e9]);
  });

  test.each([
    ["below 0", -1, "negative"],
    ["beyond a petabyte", 2e15, "out_of_range"],
  ] as const)("memory %s is refused and counted, and the last figure stays", (_name, bytes, reason) => {
    const way = openWay();
    way.take(exporter(0, [0.5], 3e9), atMs(0));
    way.take(exporter(1, [0.5], bytes), atMs(1));
    expect(availableOn(way, 1)).toEqual([500, 3e9]);
    expect(way.ingest.counts.refused[reason]).toBe(1);
  });

  test("that nobody hears of for a window leaves what is available unknown", () => {
    const way = openWay();
    for (let step = 0; step <= 2; step++) way.take(exporter(step, [0.9], 3e9), atMs(step));
    expect(availableOn(way, 3 + SHAPE.windowMs / STEP_MS)).toEqual([null, null]);
  });
});
