import type { Metric } from "@isochrone/telemetry";
import { beforeEach, describe, expect, test } from "vitest";
import { clusterState, nodeState } from "../../testing/cluster.ts";
import { counter, probeMetrics, recordOf } from "../../testing/records.ts";
import { buildClusterGraph } from "../graphs/cluster-graph.ts";
import { Ingest } from "./ingest.ts";
import { Tables } from "../graphs/tables.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const LIMITS = { maxLinks: 4, maxChannels: 100, maxPods: 100 };
const OPTIONS = { maxFutureMs: 1000, maxSeries: 1000, maxSources: 16 };
const RULE = { methods: ["udp_rr", "tcp_rr"], quantile: "p50" } as const;
const NOW = 1_700_000_000_000;

let tables: Tables;
let ingest: Ingest;
let refusals: string[];

beforeEach(() => {
  tables = new Tables(SHAPE, LIMITS);
  refusals = [];
  ingest = new Ingest(tables, OPTIONS, {
    onRefused: (source, reason) => refusals.push(`${source} ${reason}`),
  });
});

function links(nowMs: number) {
  const cluster = clusterState({ nodes: [nodeState("a"), nodeState("b")] });
  return buildClusterGraph(tables, cluster, RULE, { version: 1, nowMs }, "full").links;
}

function probe(timeMs: number, target: string): Metric[] {
  return probeMetrics([{ target, timeMs, rttsMs: [10], outcomes: { sent: 1, received: 1 } }]);
}

describe("series that have ended", () => {
  const at = (timeMs: number, target: string): void =>
    void ingest.take(recordOf("a", probe(timeMs, target), { arrivedAtMs: timeMs }), timeMs);

  test("are forgotten after two whole windows without a point, others are not", () => {
    at(NOW, "gone");
    const ofOne = ingest.series;
    for (let i = 0; i < 5; i++) at(NOW + i * SHAPE.windowMs, "b");
    expect(ingest.series).toBe(ofOne);
    expect(links(NOW + 4 * SHAPE.windowMs)[0]).toMatchObject({ target: "b", lossRatio: 0 });
  });

  test("give back what their counters were compared by, also when the pod itself was forgotten before", () => {
    const cpu = (pod: string, timeMs: number, value: number): void => {
      const attributes = { namespace: "default", pod, container: "app", id: "/kubepods" };
      const metrics = [counter("container_cpu_usage_seconds_total", attributes, timeMs, value)];
      ingest.take(recordOf("a", metrics, { arrivedAtMs: timeMs }), timeMs);
    };
    for (let i = 0; i < 10; i++) {
      const nowMs = NOW + i * SHAPE.windowMs;
      tables.expire(nowMs, () => false);
      cpu("stays", nowMs, i);
      cpu(`passes-${i}`, nowMs, i);
    }
    expect(ingest.counters).toBeLessThanOrEqual(ingest.series);
    expect(ingest.counters).toBe(4);
  });

  test("begin anew when they come back", () => {
    at(NOW, "b");
    for (let i = 1; i < 5; i++) at(NOW + i * SHAPE.windowMs, "c");
    at(NOW + 5 * SHAPE.windowMs, "b");
    expect(links(NOW + 5 * SHAPE.windowMs).map(({ target, rttMs }) => [target, rttMs.count])).toContainEqual([
      "b",
      1,
    ]);
    expect(refusals).toEqual([]);
  });
});

describe("a sender that restarts", () => {
  const CPU = "container_cpu_usage_seconds_total";
  const labels = { namespace: "default", pod: "web", container: "app", id: "/kubepods" };
  const STEP_MS = 2_000;

  /** CPU cores in the window after 30 s at 0.5 cores; the sender counts `value`. */
  const coresOf = (
    value: (step: number) => number,
    startMs: (step: number) => number,
    epochs = true,
  ): number => {
    for (let step = 0; step <= 14; step++) {
      const atMs = NOW + step * STEP_MS;
      const epoch = epochs && step >= 10 ? "second" : "first";
      const metrics = [counter(CPU, labels, atMs, value(step), startMs(step))];
      ingest.take(recordOf("a", metrics, { epoch, sequence: step, arrivedAtMs: atMs }), atMs);
    }
    return tables.pods.get("default/web")!.cpu(NOW + 14 * STEP_MS, "full")!;
  };

  test.each([
    ["of unknown age", () => 0],
    ["that are old", () => NOW - 60_000],
  ])("and forgets parts of its sums counts nothing twice: counters %s", (_, startMs) => {
    // A container has ended, so the counter restarts 100 core-seconds lower.
    expect(coresOf((step) => step + (step < 10 ? 100 : 50), startMs)).toBeCloseTo(0.5, 6);
  });

  test.each([
    ["goes on counting what it counted", (step: number) => step, () => 0],
    [
      "and sees a counter that has begun since",
      (step: number) => (step < 10 ? 100 + step : step - 9),
      (step: number) => (step < 10 ? 0 : NOW + 9 * STEP_MS),
    ],
  ])("%s without a gap", (_, value, startMs) => {
    expect(coresOf(value, startMs)).toBeCloseTo(0.5, 6);
  });

  test("is no reason for a counter that began anew in one life", () => {
    expect(
      coresOf(
        (step) => (step < 10 ? 100 + step : step - 9),
        () => 0,
        false,
      ),
    ).toBeCloseTo(0.5, 6);
  });
});
