import { createMemoryBus } from "@isochrone/bus/memory";
import type { MemoryBus } from "@isochrone/bus/testing";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import type { ClusterStore } from "@isochrone/kubernetes";
import { createRegistry, seededRandom } from "@isochrone/runtime";
import { ManualClock } from "@isochrone/runtime/testing";
import { TOPICS } from "@isochrone/telemetry";
import type { Health } from "@isochrone/topology";
import type { BandwidthLeaseAnswer } from "@isochrone/topology/testing";
import type { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startAggregator, type RunningAggregator } from "./testing/aggregator.ts";
import { fill, nodeObject, podObject } from "./testing/cluster.ts";
import { bandwidthTest, recordOf } from "./testing/records.ts";

const LEASE_MS = 30_000;
const NODES = ["n0", "n1"];

let clock: ManualClock;
let bus: MemoryBus;
let store: ClusterStore;
let running: { readonly one: RunningAggregator; readonly registry: Registry }[];

beforeEach(async () => {
  clock = new ManualClock();
  bus = createMemoryBus({ clock, partitions: 3 });
  store = createMemoryStore({ clock });
  running = [];
  for (const [i, name] of NODES.entries()) {
    const labels = { "app.kubernetes.io/name": "isochrone-probe" };
    const pod = podObject("isochrone", `probe-${name}`, name, { labels, ip: `10.0.0.${i + 1}` });
    await fill(store, [nodeObject(name, `z${i}`), pod]);
  }
});

afterEach(async () => {
  await Promise.all(running.map(({ one }) => end(one)));
  await bus.close();
});

async function join(name: string): Promise<RunningAggregator> {
  const registry = createRegistry();
  const parts = { bus, store, clock, registry, random: seededRandom(name.charCodeAt(0)), isShared: true };
  const one = await startAggregator({
    settings: { replicaName: name, bandwidthLeaseMs: LEASE_MS, bandwidthPairIntervalMs: 600_000 },
    parts,
  });
  running.push({ one, registry });
  await pass(500);
  return one;
}

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) await clock.advance(100);
}

async function end(one: RunningAggregator): Promise<void> {
  const stopped = one.aggregator.stop();
  for (let turn = 0; turn < 60; turn++) await clock.advance(100);
  await stopped;
}

async function gauges(name: string): Promise<number[]> {
  return Promise.all(
    running.map(async ({ registry }) => {
      const [first] = (await registry.getMetricsAsJSON()).find((metric) => metric.name === name)!.values;
      return first!.value;
    }),
  );
}

async function askLease({ aggregator }: RunningAggregator, node: string): Promise<BandwidthLeaseAnswer> {
  const asked = aggregator.app.inject({ method: "POST", url: "/api/v1/bandwidth-leases", payload: { node } });
  return (await asked).json<BandwidthLeaseAnswer>();
}

test("replicas elect one, know each other, and pass on what only the leader may grant", async () => {
  await join("a");
  const second = await join("b");
  await pass(LEASE_MS + 5000);
  expect(await gauges("isochrone_aggregator_leader")).toEqual([1, 0]);
  expect(await gauges("isochrone_aggregator_live_replicas")).toEqual([2, 2]);
  expect((await askLease(second, "n0")).lease).toMatchObject({ target: "n1" });
});

test("each says how all of them are, asked for it", async () => {
  const first = await join("a");
  const second = await join("b");
  await pass(LEASE_MS + 5000);
  const said = await second.aggregator.app.inject("/api/v1/health?replicas=all");
  const { replicas } = said.json<Health>();
  expect(replicas.all).toMatchObject([
    { replica: "b", problem: null, isLeader: false, ready: true },
    { replica: "a", problem: null, isLeader: true, ready: true },
  ]);
  const alone = await first.aggregator.app.inject("/api/v1/health");
  expect(alone.json<Health>().replicas.all).toBeUndefined();
});

test("a new leader knows which pairs were tested, by the bursts in the graph", async () => {
  const first = await join("a");
  const second = await join("b");
  await pass(LEASE_MS + 5000);
  const timeMs = clock.now();
  const metrics = [bandwidthTest("n1", "tcp", timeMs, 1e9)];
  const burst = recordOf("n0", metrics, { sequence: 0, arrivedAtMs: timeMs });
  await bus.publish(TOPICS.probe, [{ key: "n0", value: burst.value, headers: burst.headers }]);
  await pass(5000);
  running.shift();
  await end(first);
  await pass(LEASE_MS + 20_000);
  expect(await gauges("isochrone_aggregator_leader")).toEqual([1]);
  const refused = await askLease(second, "n0");
  expect(refused.lease).toBeNull();
  expect(refused.retryAfterMs).toBeGreaterThan(500_000);
  expect((await askLease(second, "n1")).lease).toMatchObject({ target: "n0" });
});
