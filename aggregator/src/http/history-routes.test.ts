import { TOPICS } from "@isochrone/telemetry";
import {
  GraphHistorySchema,
  HealthSchema,
  LinkHistorySchema,
  type ClusterGraphSnapshot,
  type GraphHistory,
  type Health,
  type LinkHistory,
  type WorkflowList,
} from "@isochrone/topology";
import { Value } from "typebox/value";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startAggregator, type RunningAggregator } from "../testing/aggregator.ts";
import { fill, nodeObject } from "../testing/cluster.ts";
import { probeMetrics, recordOf } from "../testing/records.ts";

let running: RunningAggregator;

beforeEach(async () => {
  running = await startAggregator();
  await fill(running.store, [nodeObject("a", "z1"), nodeObject("b", "z2")]);
});
afterEach(() => running.stop());

interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

async function get<T>(url: string): Promise<Answer<T>> {
  const response = await running.aggregator.app.inject(url);
  return { status: response.statusCode, body: response.json<T>() };
}

async function measure(ms: number): Promise<void> {
  const timeMs = running.clock.now();
  const { key, value, headers } = recordOf("a", probeMetrics([{ target: "b", timeMs, rttsMs: [ms] }]), {
    arrivedAtMs: timeMs,
  });
  await running.bus.publish(TOPICS.probe, [{ key, value, headers }]);
  await running.clock.advance(10_000);
}

describe("the past", () => {
  test("can be asked for by moment, and one pair over all of it", async () => {
    await measure(10);
    await measure(30);
    await measure(30);
    const { body: history } = await get<GraphHistory>("/api/v1/graph/history");
    expect(Value.Check(GraphHistorySchema, history)).toBe(true);
    expect(history.times.length).toBeGreaterThanOrEqual(3);

    const at = history.times.at(-1)!;
    const { body: then } = await get<ClusterGraphSnapshot>(`/api/v1/graph/cluster?at=${at}`);
    expect(then.observedAt).toBe(at);
    expect(then.links).toMatchObject([{ source: "a", target: "b" }]);
    expect((await get<WorkflowList>(`/api/v1/graph/workflows?at=${at}`)).body.observedAt).toBe(at);

    const { body: link } = await get<LinkHistory>("/api/v1/graph/history/link?source=a&target=b");
    expect(Value.Check(LinkHistorySchema, link)).toBe(true);
    expect(link.method).toBe("udp_rr");
    expect(link.points.at(-1)!.p50Ms).toBeGreaterThan(link.points[0]!.p50Ms!);
  });

  test("says what it can't tell", async () => {
    expect(await get("/api/v1/graph/cluster?at=yesterday")).toMatchObject({
      status: 400,
      body: { code: "bad_query" },
    });
    expect(await get("/api/v1/graph/cluster?at=1999-01-01T00:00:00Z")).toMatchObject({
      status: 404,
      body: { code: "not_kept" },
    });
    await running.clock.advance(1000);
    const { body } = await get<GraphHistory>("/api/v1/graph/history");
    expect((await get(`/api/v1/graph/cluster?window=fast&at=${body.times.at(-1)!}`)).status).toBe(400);
    expect((await get("/api/v1/graph/history/link?source=a")).status).toBe(400);
  });
});

describe("the health of the aggregator", () => {
  test("tells freshness, what came and what was refused", async () => {
    await measure(10);
    await running.bus.publish(TOPICS.probe, [
      { key: "evil", value: new Uint8Array([255, 255]), headers: {} },
    ]);
    await running.clock.advance(1000);
    const { body } = await get<Health>("/api/v1/health");
    expect(Value.Check(HealthSchema, body)).toBe(true);
    expect(body).toMatchObject({
      ready: true,
      graphAgeSeconds: 0,
      intake: {
        missing: 0,
        refused: { malformed: 1 },
        refusedNow: [{ source: "evil", reason: "malformed", refused: 1 }],
      },
      replicas: { live: null, isLeader: null },
    });
    expect(body.intake.points).toBeGreaterThan(0);
    await running.clock.advance(10 * 60_000);
    const later = (await get<Health>("/api/v1/health")).body;
    expect(later.intake).toMatchObject({ refused: { malformed: 1 }, refusedNow: [] });
  });
});
