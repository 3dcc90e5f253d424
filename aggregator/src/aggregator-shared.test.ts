import type { Bus } from "@isochrone/bus";
import { createMemoryBus } from "@isochrone/bus/memory";
import type { MemoryBus } from "@isochrone/bus/testing";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock } from "@isochrone/runtime/testing";
import { TOPICS } from "@isochrone/telemetry";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startAggregator, type RunningAggregator } from "./testing/aggregator.ts";
import { probeMetrics, recordOf } from "./testing/records.ts";

let clock: ManualClock;
let bus: MemoryBus;
let running: RunningAggregator[];

beforeEach(() => {
  clock = new ManualClock();
  bus = createMemoryBus({ clock, partitions: 3 });
  running = [];
});

afterEach(async () => {
  for (const { aggregator } of running) {
    const stopped = aggregator.stop();
    for (let turn = 0; turn < 50; turn++) await clock.advance(20);
    await stopped;
  }
  await bus.close();
});

async function start(seed: number, on: Bus = bus): Promise<RunningAggregator> {
  const parts = { bus: on, clock, random: seededRandom(seed), isShared: true };
  const one = await startAggregator({ parts });
  running.push(one);
  return one;
}

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 20) await clock.advance(20);
}

async function graphOf({ aggregator }: RunningAggregator): Promise<ClusterGraphSnapshot> {
  const { body } = await aggregator.app.inject("/api/v1/graph/cluster");
  return JSON.parse(body) as ClusterGraphSnapshot;
}

test("two replicas on one bus serve the same graph", async () => {
  const both = [await start(1), await start(2)];
  await pass(2000);
  for (const [i, node] of ["a", "b", "c", "d", "e"].entries()) {
    const timeMs = clock.now();
    const metrics = probeMetrics([{ target: "x", timeMs, rttsMs: Array.from({ length: i + 1 }, () => 5) }]);
    const { key, value, headers } = recordOf(node, metrics, { sequence: 0, arrivedAtMs: timeMs });
    await bus.publish(TOPICS.probe, [{ key, value, headers }]);
  }
  await pass(2500);
  const graphs = await Promise.all(both.map(graphOf));
  const countsOf = (graph: ClusterGraphSnapshot): unknown =>
    graph.links.map(({ source, rttMs }) => [source, rttMs.count]);
  expect(countsOf(graphs[0]!)).toEqual([
    ["a", 1],
    ["b", 2],
    ["c", 3],
    ["d", 4],
    ["e", 5],
  ]);
  expect(countsOf(graphs[1]!)).toEqual(countsOf(graphs[0]!));
  expect((await both[1]!.aggregator.app.inject("/readyz")).statusCode).toBe(200);
  const pages = await Promise.all(both.map(({ aggregator }) => aggregator.app.inject("/metrics")));
  const metrics = pages.map(({ body }) => body).join("\n");
  expect(metrics).toMatch(/isochrone_consumer_lag_records\{topic="isochrone.probe.v1",partition="\d"\} 0/);
  expect(metrics.match(/^isochrone_aggregator_records_total 5$/gm)).toHaveLength(2);
});

test("without its bus a replica serves, builds no graph, and says what it waits for", async () => {
  const away = Object.assign(Object.create(bus) as MemoryBus, {
    subscribe: () => new Promise(() => undefined),
  });
  const { aggregator } = await start(1, away);
  await pass(2000);
  const ready = await aggregator.app.inject("/readyz");
  expect(ready.statusCode).toBe(503);
  expect(ready.body).toContain("reading the records of the window from the bus");
  expect(ready.body).toContain("waiting for the first graph");
  expect((await aggregator.app.inject("/healthz")).statusCode).toBe(200);
});
