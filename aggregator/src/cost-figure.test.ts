import { createMemoryBus } from "@isochrone/bus/memory";
import type { MemoryBus } from "@isochrone/bus/testing";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock } from "@isochrone/runtime/testing";
import { TOPICS } from "@isochrone/telemetry";
import type { ClusterGraphSnapshot, Link } from "@isochrone/topology";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startAggregator, type RunningAggregator } from "./testing/aggregator.ts";
import { probeMetrics, recordOf } from "./testing/records.ts";

let clock: ManualClock;
let bus: MemoryBus;
let running: RunningAggregator[];
let sequence: number;

beforeEach(() => {
  clock = new ManualClock();
  bus = createMemoryBus({ clock, partitions: 2 });
  running = [];
  sequence = 0;
});

afterEach(async () => {
  for (const { aggregator } of running) {
    const stopped = aggregator.stop();
    await pass(1000);
    await stopped;
  }
  await bus.close();
});

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 20) await clock.advance(20);
}

async function start(costQuantile: string, seed: number): Promise<void> {
  const parts = { bus, clock, random: seededRandom(seed), isShared: true };
  running.push(await startAggregator({ settings: { costQuantile }, parts }));
  await pass(2000);
}

async function publish(rttsMs: readonly number[]): Promise<void> {
  const timeMs = clock.now();
  const metrics = probeMetrics([{ target: "b", timeMs, rttsMs, outcomes: { sent: rttsMs.length } }]);
  const { key, value, headers } = recordOf("a", metrics, { sequence: sequence++, arrivedAtMs: timeMs });
  await bus.publish(TOPICS.probe, [{ key, value, headers }]);
  await pass(3000);
}

async function linkOf({ aggregator }: RunningAggregator): Promise<Link> {
  const { body } = await aggregator.app.inject("/api/v1/graph/cluster");
  return (JSON.parse(body) as ClusterGraphSnapshot).links[0]!;
}

// 17 replies of 10 ms, then 3 of 110 ms. Of the 20 sorted replies the 10th is 10 ms and the 18th is 110 ms.
// Their mean is (17 x 10 + 3 x 110) / 20 = 25 ms. The mean of both panes' means would be 60 ms.
const FIRST = Array.from({ length: 17 }, () => 10);
const LATER = [110, 110, 110];

test.each([
  ["p50", 10, 10 * 0.011],
  ["p90", 110, 110 * 0.011],
  // From exact sums, without rounding to buckets.
  ["mean", 25, 1e-9],
])("a link's cost by %s is %d ms on every replica", async (costQuantile, costMs, errorMs) => {
  await start(costQuantile, 1);
  await start(costQuantile, 2);
  await publish(FIRST);
  await publish(LATER);
  for (const replica of running)
    expect(Math.abs((await linkOf(replica)).costMs! - costMs)).toBeLessThanOrEqual(errorMs);
});

test("the mean is that of the window: replies that left it count no more", async () => {
  await start("mean", 1);
  await publish(FIRST);
  await pass(20_000);
  await publish(LATER);
  expect((await linkOf(running[0]!)).costMs).toBeCloseTo(25, 9);
  // The window is 30 s: the first replies have left it, the later ones have not.
  await pass(10_000);
  const link = await linkOf(running[0]!);
  expect(link.rttMs.count).toBe(3);
  expect(link.costMs).toBeCloseTo(110, 9);
});
