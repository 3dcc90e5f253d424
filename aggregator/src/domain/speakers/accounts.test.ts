import { beforeEach, expect, test } from "vitest";
import { Accounts } from "./accounts.ts";
import { SpeakerPolicy } from "./policy.ts";
import type { Speaker } from "./speaker.ts";
import { counter, probeMetrics, recordOf } from "../../testing/records.ts";
import { Ingest } from "../ingest/ingest.ts";
import { Tables } from "../graphs/tables.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const LIMITS = { maxLinks: 100, maxChannels: 100_000, maxPods: 100_000 };
const OPTIONS = { maxFutureMs: 1000, maxSeries: 20_000, maxSources: 16, maxSeriesPerSource: 1000 };
const NOW = 1_700_000_000_000;

let tables: Tables;
let ingest: Ingest;

beforeEach(() => {
  tables = new Tables(SHAPE, LIMITS);
  ingest = new Ingest(tables, OPTIONS);
});

function bomb(round: number, nowMs: number): void {
  const metrics = Array.from({ length: 1000 }, (_, i) =>
    counter(
      "container_cpu_usage_seconds_total",
      { namespace: "x", pod: `p${round}-${i}`, container: "c" },
      nowMs,
      1,
    ),
  );
  ingest.take(recordOf("evil", metrics, { sequence: round, arrivedAtMs: nowMs }), nowMs);
}

function honest(sequence: number, nowMs: number, value: number): void {
  const metrics = [
    ...probeMetrics([{ target: "b", timeMs: nowMs, rttsMs: [1] }]),
    counter(
      "container_cpu_usage_seconds_total",
      { namespace: "shop", pod: "web", container: "c" },
      nowMs,
      value,
    ),
  ];
  ingest.take(recordOf("good", metrics, { sequence, arrivedAtMs: nowMs }), nowMs);
}

test("a source that brings ever new series is bounded, and takes nothing from others", () => {
  honest(0, NOW, 10);
  for (let round = 0; round < 100; round++) bomb(round, NOW + round * 10);
  honest(1, NOW + 2000, 12);
  expect(tables.pods.size).toBe(1001);
  expect(ingest.counts.refused.too_many_series).toBe(99_000);
  expect(ingest.series).toBeLessThan(2100);
  // The honest sender's counter still has its last value.
  expect(tables.pods.get("shop/web")!.cpu(NOW + 2000, "full")).toBeCloseTo(1, 5);
});

test("a source leaves room for others, however much it may bring by the settings", () => {
  ingest = new Ingest(tables, { ...OPTIONS, maxSeries: 5000, maxSeriesPerSource: 100_000 });
  honest(0, NOW, 10);
  for (let round = 0; round < 20; round++) bomb(round, NOW + round * 10);
  honest(1, NOW + 2000, 12);
  expect(ingest.counts.refused.too_many_series).toBe(20_000 - 2500);
  expect(tables.pods.get("shop/web")!.cpu(NOW + 2000, "full")).toBeCloseTo(1, 5);
});

test("a source that goes on speaking keeps its budget, however many others come and go", () => {
  for (let round = 0; round < 100; round++) {
    bomb(round, NOW + round);
    const other = probeMetrics([{ target: "b", timeMs: NOW + round, rttsMs: [1] }]);
    ingest.take(recordOf(`other-${round}`, other, { arrivedAtMs: NOW + round }), NOW + round);
  }
  expect(tables.pods.size).toBe(1000);
});

test("a source that has behaved for a window is heard again", () => {
  for (let round = 0; round < 5; round++) bomb(round, NOW);
  honest(0, NOW, 10);
  const later = NOW + SHAPE.windowMs;
  const metrics = probeMetrics([{ target: "b", timeMs: later, rttsMs: [1] }]);
  ingest.take(recordOf("evil", metrics, { sequence: 5, arrivedAtMs: later }), later);
  expect(tables.links.sorted().map(({ key }) => key.source)).toContain("evil");
});

test("a service, which may speak for all nodes, has half of all series; a node has its own budget", () => {
  const tables = { links: 100, pairs: 100, channels: 100, pods: 100 };
  const limits = { windowMs: 30_000, maxSeries: 20_000, maxNewSeries: 1000, maxSources: 16, tables };
  const accounts = new Accounts(limits, new SpeakerPolicy([]));
  const admitted = (speaker: Speaker): number => {
    const account = accounts.of(speaker, "any", NOW);
    let count = 0;
    while (account.admits(1)) count++;
    return count;
  };
  expect(admitted({ kind: "service", name: "mesh" })).toBe(10_000);
  expect(admitted({ kind: "node", node: "a" })).toBe(1000);
});
