import { TOPICS } from "@isochrone/telemetry";
import { LinkDistributionsSchema, type LinkDistributions } from "@isochrone/topology";
import type { Problem } from "@isochrone/topology/testing";
import { Value } from "typebox/value";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startAggregator, type RunningAggregator } from "../testing/aggregator.ts";
import { fill, nodeObject } from "../testing/cluster.ts";
import { probeMetrics, recordOf } from "../testing/records.ts";

let running: RunningAggregator;

beforeEach(async () => {
  running = await startAggregator();
  await fill(running.store, [nodeObject("a", "z1"), nodeObject("b", "z2"), nodeObject("c", "z2")]);
});
afterEach(() => running.stop());

interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

async function get<T>(query: string): Promise<Answer<T>> {
  const response = await running.aggregator.app.inject(`/api/v1/graph/link?${query}`);
  return { status: response.statusCode, body: response.json<T>() };
}

async function measure(rttsMs: number[], lost = 0): Promise<void> {
  const timeMs = running.clock.now();
  const outcomes = { received: rttsMs.length, lost };
  const metrics = probeMetrics([{ target: "b", timeMs, rttsMs, outcomes }]);
  const { key, value, headers } = recordOf("a", metrics, { arrivedAtMs: timeMs });
  await running.bus.publish(TOPICS.probe, [{ key, value, headers }]);
  await running.clock.advance(2_000);
}

describe("one pair's distribution", () => {
  test("has every answer of the window in the bucket of its time", async () => {
    await measure([1, 1, 1, 40]);
    await measure([40, 40]);
    const { body } = await get<LinkDistributions>("source=a&target=b");
    expect(Value.Check(LinkDistributionsSchema, body)).toBe(true);
    const [only, ...others] = body.distributions;
    expect(others).toEqual([]);
    expect(only).toMatchObject({ method: "udp_rr", ipFamily: 4, count: 6, minMs: 1, maxMs: 40 });
    expect(only!.buckets.map(({ count }) => count)).toEqual([3, 3]);
    for (const [index, ms] of [1, 40].entries()) {
      const { fromMs, toMs } = only!.buckets[index]!;
      expect(fromMs < ms && ms <= toMs && toMs / fromMs < 1.012).toBe(true);
    }
  });

  test("forgets what has left the window, and is empty for a pair that nobody measures", async () => {
    await measure([1]);
    await running.clock.advance(120_000);
    expect((await get<LinkDistributions>("source=a&target=b")).body.distributions).toEqual([]);
    expect((await get<LinkDistributions>("source=b&target=c")).body.distributions).toEqual([]);
  });

  test("says pane by pane what became of the packets, and when the last answer came, also of a cut pair", async () => {
    const answeredAt = new Date(running.clock.now()).toISOString();
    await measure([1, 1, 40]);
    await measure([], 4);
    await measure([], 4);
    const { body } = await get<LinkDistributions>("source=a&target=b");
    expect(Value.Check(LinkDistributionsSchema, body)).toBe(true);
    const [only, ...others] = body.counts!;
    expect(others).toEqual([]);
    expect(only).toMatchObject({ method: "udp_rr", ipFamily: 4, answeredAt });
    expect(only!.panes.map(({ received, failed }) => [received, failed])).toEqual([
      [3, 0],
      [0, 4],
      [0, 4],
    ]);
    expect(only!.panes.map(({ p50Ms }) => p50Ms?.toFixed(1) ?? null)).toEqual(["1.0", null, null]);
    await running.clock.advance(120_000);
    const later = (await get<LinkDistributions>("source=a&target=b")).body;
    expect(later).toMatchObject({ distributions: [], counts: [{ answeredAt, panes: [] }] });
    expect((await get<LinkDistributions>("source=b&target=c")).body.counts).toEqual([]);
  });

  test("says no for a node that isn't there, and for a query that isn't one pair", async () => {
    await measure([1]);
    const { status, body } = await get<Problem>("source=a&target=nobody");
    expect([status, body.code, body.detail]).toEqual([404, "unknown_node", "there is no node nobody"]);
    for (const query of ["source=a", "source=a&target=", "source=a&target=b&more=1"])
      expect((await get<Problem>(query)).status).toBe(400);
  });
});
