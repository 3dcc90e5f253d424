// Hostile input is rejected or bounded, logged once and counted, while valid input is served.
import { createAggregator, aggregatorSettings } from "@isochrone/aggregator";
import { createMemoryBus } from "@isochrone/bus/memory";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import {
  Distribution,
  encodeHeaders,
  encodeMetrics,
  PROBE_ATTRIBUTES,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
  type Metric,
} from "@isochrone/telemetry";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { gzipSync } from "node:zlib";
import type { Aggregator } from "@isochrone/aggregator/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../harness/embedded.ts";

const NODES = ["a", "b"];

let aggregator: Aggregator;
let logger: MemoryLogger;
let base: string;
let sequence = 0;

beforeAll(async () => {
  logger = new MemoryLogger();
  const store = createMemoryStore({ clock: systemClock });
  for (const name of NODES)
    await store.create({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
  const file = {
    aggregator: { windowMs: 30_000, paneMs: 2_000, buildIntervalMs: 200, bodyLimitBytes: 1024 * 1024 },
  };
  const { aggregator: config } = loadSettings([aggregatorSettings], {
    env: {},
    file,
    overrides: { aggregator: { host: "127.0.0.1", port: 0 } },
  });
  const bus = createMemoryBus({ clock: systemClock });
  aggregator = createAggregator(config, {
    bus,
    store,
    clock: systemClock,
    random: seededRandom(1),
    logger,
    registry: createRegistry(),
  });
  await aggregator.start();
  base = aggregator.address().url;
  await systemClock.sleep(300);
});

afterAll(async () => {
  await aggregator.stop();
});

function rttOf(rttMs: number, atMs: number): Metric[] {
  const distribution = new Distribution();
  distribution.record(rttMs / 1000, 50);
  const attributes = {
    [PROBE_ATTRIBUTES.destinationNode]: "b",
    [PROBE_ATTRIBUTES.method]: "udp_rr",
    [PROBE_ATTRIBUTES.ipFamily]: 4,
  };
  const time = { startMs: atMs - 1000, timeMs: atMs };
  const packets = (outcome: string): object => ({
    attributes: { ...attributes, outcome },
    ...time,
    value: 50,
    integer: true,
  });
  return [
    {
      name: PROBE_METRICS.rtt,
      unit: "s",
      kind: "exponentialHistogram",
      temporality: "delta",
      points: [{ attributes, ...time, data: distribution.toData() }],
    },
    {
      name: PROBE_METRICS.packets,
      kind: "sum",
      temporality: "delta",
      monotonic: true,
      points: [packets("sent"), packets("received")],
    } as Metric,
  ];
}

const resource = { [RESOURCE_ATTRIBUTES.node]: "a", [RESOURCE_ATTRIBUTES.serviceName]: "isochrone-probe" };
const record = (metrics: readonly Metric[]): Uint8Array =>
  encodeMetrics({ resource, scope: { name: "test" }, metrics });

interface Post {
  readonly source?: string;
  readonly sequence?: number;
  readonly sentAtMs?: number;
  readonly headers?: Record<string, string>;
}

async function post(
  body: Uint8Array | string,
  { source = "probe/a", sequence: at = sequence++, sentAtMs = Date.now(), headers }: Post = {},
): Promise<Response> {
  return fetch(`${base}/v1/metrics`, {
    method: "POST",
    headers: {
      "content-type": "application/x-protobuf",
      ...(headers ?? encodeHeaders({ source, epoch: "e1", sequence: at, sentAtMs })),
    },
    body: body as Uint8Array<ArrayBuffer> | string,
  });
}

async function metric(name: string, labels = ""): Promise<number> {
  const page = await (await fetch(`${base}/metrics`)).text();
  const line = page
    .split("\n")
    .find((each) => each.startsWith(name) && each.includes(labels) && !each.startsWith("#"));
  return line === undefined ? 0 : Number(line.split(" ").at(-1));
}

async function p50(): Promise<number | null> {
  const graph = (await (await fetch(`${base}/api/v1/graph/cluster`)).json()) as ClusterGraphSnapshot;
  return graph.links.find(({ source, target }) => source === "a" && target === "b")?.rttMs.p50 ?? null;
}

const lines = (event: string): number => JSON.stringify(logger).split(event).length - 1;

async function refusedPoints(): Promise<number> {
  const page = await (await fetch(`${base}/metrics`)).text();
  return [...page.matchAll(/^isochrone_aggregator_refused_total\{[^}]*\} (\d+)/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
}

async function expectStillServing(): Promise<void> {
  expect((await post(record(rttOf(10, Date.now())))).status).toBe(200);
  await eventually("the link is in the graph", 5_000, async () => Math.abs((await p50()) ?? 0) > 0);
}

describe("a running aggregator", () => {
  it("serves good data", async () => {
    await expectStillServing();
    expect(await p50()).toBeCloseTo(10, 0);
  });

  it("refuses bytes that are no protobuf at the door, names them once and counts them", async () => {
    for (let i = 0; i < 5; i++)
      expect(
        (await post(Uint8Array.from([0x0a, 0xff, 0xff, 0xff, 0x7f, i]), { source: "probe/hostile" })).status,
      ).toBe(400);
    expect(await metric("isochrone_aggregator_http_refused_total", "malformed")).toBe(5);
    expect(lines("telemetry request refused")).toBe(1);
    await expectStillServing();
  });

  it("refuses a record that breaks deep inside, names it once and counts it", async () => {
    const bytes = record(rttOf(10, Date.now()));
    // The envelope stays valid; a length inside the first metric exceeds its end.
    const broken = Uint8Array.from(bytes);
    broken[broken.length - 3] = 0xff;
    broken[broken.length - 2] = 0xff;
    broken[broken.length - 1] = 0xff;
    const before = await refusedPoints();
    for (let i = 0; i < 4; i++) await post(broken, { source: "probe/deep" });
    await eventually("counted", 5_000, async () => (await refusedPoints()) >= before + 4);
    expect(lines("telemetry refused")).toBe(1);
    await expectStillServing();
  });

  it("refuses hostile numbers and keeps the graph as it was", async () => {
    const attributes = {
      [PROBE_ATTRIBUTES.destinationNode]: "b",
      [PROBE_ATTRIBUTES.method]: "udp_rr",
      [PROBE_ATTRIBUTES.ipFamily]: 4,
      outcome: "lost",
    };
    const values = [Number.NaN, Number.POSITIVE_INFINITY, -1, 1e300];
    for (const value of values) {
      const metrics: Metric[] = [
        {
          name: PROBE_METRICS.packets,
          kind: "sum",
          temporality: "delta",
          monotonic: true,
          points: [{ attributes, startMs: Date.now() - 1000, timeMs: Date.now(), value }],
        },
      ];
      expect((await post(record(metrics))).status).toBe(200);
    }
    await eventually("counted", 5_000, async () => {
      const page = await (await fetch(`${base}/metrics`)).text();
      const refused = [
        ...page.matchAll(
          /^isochrone_aggregator_refused_total\{reason="(not_a_number|absurd|negative)"\} (\d+)/gm,
        ),
      ].reduce((sum, [, , count]) => sum + Number(count), 0);
      return refused >= values.length;
    });
    const graph = (await (await fetch(`${base}/api/v1/graph/cluster`)).json()) as ClusterGraphSnapshot;
    expect(graph.links.find(({ source }) => source === "a")!.lossRatio).toBe(0);
    await expectStillServing();
  });

  it("refuses a record from the future and counts it", async () => {
    const before = await metric("isochrone_aggregator_refused_total", "future");
    // The clock is right (sent-at is now) but points lie an hour ahead: no clock skew.
    await post(record(rttOf(500, Date.now() + 3_600_000)));
    await eventually(
      "counted",
      5_000,
      async () => (await metric("isochrone_aggregator_refused_total", "future")) > before,
    );
    expect(await p50()).toBeLessThan(50);
    await expectStillServing();
  });

  it("corrects a sender whose clock is an hour ahead, and publishes its skew", async () => {
    const ahead = 3_600_000;
    await post(record(rttOf(10, Date.now() + ahead)), {
      source: "probe/ahead",
      sentAtMs: Date.now() + ahead,
    });
    await eventually(
      "skew is published",
      5_000,
      async () =>
        Math.abs((await metric("isochrone_aggregator_source_clock_skew_seconds", "probe/ahead")) + 3600) < 10,
    );
  });

  it("counts what is older than the window as too late", async () => {
    const before = await metric("isochrone_aggregator_too_late_total");
    await post(record(rttOf(500, Date.now() - 120_000)));
    await eventually(
      "counted",
      5_000,
      async () => (await metric("isochrone_aggregator_too_late_total")) > before,
    );
  });

  it("takes a repeated record once", async () => {
    const link = async (): Promise<number> => {
      const graph = (await (await fetch(`${base}/api/v1/graph/cluster`)).json()) as ClusterGraphSnapshot;
      return graph.links.find(({ source, target }) => source === "a" && target === "b")!.rttMs.count;
    };
    await systemClock.sleep(500);
    const [count, duplicates] = [await link(), await metric("isochrone_aggregator_duplicate_records_total")];
    const [bytes, at] = [record(rttOf(10, Date.now())), sequence++];
    for (let i = 0; i < 4; i++) await post(bytes, { sequence: at });
    await eventually(
      "counted",
      5_000,
      async () => (await metric("isochrone_aggregator_duplicate_records_total")) === duplicates + 3,
    );
    await eventually("taken once", 5_000, async () => (await link()) === count + 50);
  });

  it("refuses bodies that are too large, also behind compression, and types it can't read", async () => {
    expect((await post(new Uint8Array(2 * 1024 * 1024))).status).toBe(413);
    const identity = encodeHeaders({ source: "probe/bomb", epoch: "e1", sequence: 0, sentAtMs: Date.now() });
    expect(
      (
        await post(gzipSync(Buffer.alloc(200 * 1024 * 1024)), {
          headers: { ...identity, "content-encoding": "gzip" },
        })
      ).status,
    ).toBe(413);
    expect((await post("{}", { headers: { "content-type": "text/json" } })).status).toBe(415);
    await expectStillServing();
  });

  it("answers nonsense requests with problems that name the mistake", async () => {
    for (const path of ["/api/v1/nothing", "/api/v1/graph/workflows/none/none", "/api/v1/probe-plan/none"]) {
      const response = await fetch(`${base}${path}`);
      expect(response.status).toBe(404);
      expect(response.headers.get("content-type")).toContain("application/problem+json");
    }
    const bad = await fetch(`${base}/api/v1/graph/cluster?limit=minus`);
    expect(bad.status).toBe(400);
    expect(JSON.stringify(await bad.json())).toContain("limit");
  });
});
