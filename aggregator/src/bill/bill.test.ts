import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TOPICS, type Metric } from "@isochrone/telemetry";
import { readOutside, type Outside } from "@isochrone/telemetry/outside";
import type { Bill, BillHistory, WorkflowGraphSnapshot } from "@isochrone/topology";
import { BillHistorySchema, BillSchema } from "@isochrone/topology/bill";
import { PriceTable, readPrices } from "@isochrone/prices";
import { createRegistry } from "@isochrone/runtime";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { Value } from "typebox/value";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startAggregator, type RunningAggregator } from "../testing/aggregator.ts";
import { deploymentObject, fill, podObject } from "../testing/cluster.ts";
import { loadPrices, pricesIfAny } from "./price-file.ts";
import { counter, istio, recordOf } from "../testing/records.ts";

const PATH = "/api/v1/graph/bill";
const MONTH_SECONDS = 2_628_000;
/** One GB per month, in bytes per second. */
const GB = 1e9 / MONTH_SECONDS;

let running: RunningAggregator;
let registry = createRegistry();

const nodeIn = (name: string, zone: string): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name,
    labels: { "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "us-east-1" },
  },
  spec: { providerID: `aws:///${zone}/i-${name}` },
  status: { conditions: [{ type: "Ready", status: "True" }] },
});

const podOf = (workload: string, node: string): KubernetesObject => {
  const pod = podObject("shop", `${workload}-1`, node, {
    labels: { "isochrone.dev/workflow": "flow" },
    ...(workload === "web" ? { ip: "10.0.0.1" } : {}),
  });
  const ownerReferences = [
    { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${workload}-abc`, uid: workload, controller: true },
  ];
  return { ...pod, metadata: { ...pod.metadata, ownerReferences } };
};

const start = async (
  parts: { readonly prices?: PriceTable; readonly outside?: Outside } = {},
): Promise<void> => {
  registry = createRegistry();
  running = await startAggregator({ parts: { registry, ...parts } });
  const workloads = ["web", "api", "db"];
  await fill(running.store, [
    nodeIn("a", "us-east-1a"),
    nodeIn("b", "us-east-1b"),
    ...workloads.map((name) => deploymentObject("shop", name, "flow")),
    ...workloads.map((name) => ({
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        namespace: "shop",
        name: `${name}-abc`,
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "Deployment", name, uid: `d-${name}`, controller: true },
        ],
      },
    })),
    podOf("web", "a"),
    podOf("api", "b"),
    podOf("db", "b"),
  ]);
};

beforeEach(() => start());
afterEach(() => running.stop());

/** 10 s: web to api across zones (3 GB per month), api to db in a zone, uncounted web to db. */
async function traffic(): Promise<void> {
  for (let second = 0; second <= 10; second += 2) {
    const atMs = running.clock.now();
    const bytes = (source: string, target: string, perSecond: number): Metric[] => [
      counter("istio_request_bytes_sum", istio("source", source, target), atMs, second * perSecond),
    ];
    const metrics = [
      ...bytes("web", "api", 3 * GB),
      ...bytes("api", "db", 5 * GB),
      counter("istio_requests_total", istio("source", "web", "db"), atMs, second * 7),
    ];
    const { key, value, headers } = recordOf("a", metrics, { arrivedAtMs: atMs });
    await running.bus.publish(TOPICS.traffic, [{ key, value, headers }]);
    await running.clock.advance(2000);
  }
}

const OUTSIDE = readOutside({
  cluster: ["10.0.0.0/8"],
  names: [{ name: "s3-eu", cidrs: ["52.218.0.0/17"] }],
});

/** 10 s of traffic by connection counts of web's node: 2 GB per month to S3, and 5 GB from S3. */
async function outsideTraffic(): Promise<void> {
  for (let second = 2; second <= 10; second += 2) {
    const atMs = running.clock.now();
    const row = (direction: string, perSecond: number): Metric =>
      counter(
        "isochrone.outside.bytes",
        { pod_address: "10.0.0.1", outside: "s3-eu", direction },
        atMs,
        2 * perSecond,
        atMs - 2000,
        "delta",
      );
    const metrics = [row("sent", 2 * GB), row("received", 5 * GB)];
    const { key, value, headers } = recordOf("a", metrics, { source: "connections/a", arrivedAtMs: atMs });
    await running.bus.publish(TOPICS.traffic, [{ key, value, headers }]);
    await running.clock.advance(2000);
  }
}

const get = async (url: string, headers: Record<string, string> = {}) =>
  running.aggregator.app.inject({ url, headers });

describe("the bill", () => {
  test("has money by channel, workload, namespace and zones, and says what it doesn't know", async () => {
    await traffic();
    const bill = (await get(PATH)).json<Bill>();
    expect(Value.Check(BillSchema, bill)).toBe(true);
    expect(bill).toMatchObject({ currency: "USD", monthSeconds: MONTH_SECONDS, leftOut: 0 });
    expect(
      bill.channels.map(({ source, target, perMonth, unknown }) => [
        `${source.name} ${target.name}`,
        perMonth === null ? null : Number(perMonth.toFixed(6)),
        unknown,
      ]),
    ).toEqual([
      ["web api", 0.06, null],
      ["api db", 0, null],
      ["web db", null, "no_bytes"],
    ]);
    expect(bill.total).toMatchObject({ channels: 3, channelsUnknown: 1, unpricedBytesPerSecond: 0 });
    expect(bill.total.perMonth).toBeCloseTo(0.06, 6);
    expect(bill.zones.map(({ from, to }) => `${from.zone} ${to.zone}`)).toEqual([
      "us-east-1a us-east-1b",
      "us-east-1b us-east-1b",
    ]);
    expect(bill.prices.map(({ scope }) => scope).toSorted()).toEqual(["same-zone", "zone-to-zone"]);
  });

  test("comes in parts and by moment, and only when it is new", async () => {
    await traffic();
    const all = await get(PATH);
    const { headers } = all;
    expect((await get(PATH, { "if-none-match": String(headers.etag) })).statusCode).toBe(304);
    const part = (await get(`${PATH}?limit=1`)).json<Bill>();
    expect(part.channels).toHaveLength(1);
    expect(part).toMatchObject({ leftOut: 3, total: all.json<Bill>().total });
    expect((await get(`${PATH}?namespace=other`)).json<Bill>()).toMatchObject({ channels: [], leftOut: 0 });
    for (const bad of ["limit=0", "limit=x", "at=yesterday", "by=zones", "window=slow"])
      expect((await get(`${PATH}?${bad}`)).statusCode).toBe(400);
    const { times } = (await get("/api/v1/graph/history")).json<{ times: string[] }>();
    const before = (await get(`${PATH}?at=${times[0]!}`)).json<Bill>();
    expect(before.observedAt).toBe(times[0]);
    expect(before.total).toMatchObject({ channels: 0, perMonth: null });
    expect((await get(`${PATH}?at=1999-01-01T00:00:00Z`)).statusCode).toBe(404);
  });

  test("has a history, minute by minute", async () => {
    await traffic();
    await running.clock.advance(61_000);
    const history = (await get(`${PATH}/history`)).json<BillHistory>();
    expect(Value.Check(BillHistorySchema, history)).toBe(true);
    expect(history.points.length).toBe(2);
    expect(history.points[0]).toMatchObject({ perMonth: null, bytesPerSecond: null });
  });

  test("is in the metrics, by paying namespace, with what is unknown", async () => {
    await traffic();
    const text = await registry.metrics();
    const perHour = /^isochrone_traffic_cost_per_hour\{namespace="shop",currency="USD"\} (\S+)$/m.exec(
      text,
    )?.[1];
    expect(Number(perHour)).toBeCloseTo(0.06 / 730, 9);
    expect(text).toMatch(/^isochrone_traffic_cost_unknown_channels\{reason="no_bytes"\} 1$/m);
    expect(text).toMatch(/^isochrone_traffic_cost_unknown_channels\{reason="no_price"\} 0$/m);
    expect(text).toMatch(/^isochrone_traffic_cost_unknown_bytes_per_second 0$/m);
  });
});

describe("traffic with the outside of the cluster", () => {
  const prices = PriceTable.of(
    readPrices({ destinations: [{ name: "s3-eu", scope: "region-to-region", region: "eu-west-1" }] }),
  );

  test("has money by destination, and is no channel of the workflow", async () => {
    await running.stop();
    await start({ prices, outside: OUTSIDE });
    await traffic();
    await outsideTraffic();
    const graph = (await get("/api/v1/graph/workflows/shop/flow")).json<WorkflowGraphSnapshot>();
    expect(graph.outside).toMatchObject([
      {
        workload: "web",
        destination: "s3-eu",
        sentBytesPerSecond: expect.closeTo(2 * GB, 2),
        receivedBytesPerSecond: expect.closeTo(5 * GB, 2),
        countedBy: "conntrack_client",
      },
    ]);
    expect(graph.channels.map(({ source, target }) => `${source} ${target}`)).not.toContain("web s3-eu");
    expect(graph.workloads.map(({ name }) => name)).toEqual(["api", "db", "web"]);
    const bill = (await get(PATH)).json<Bill>();
    expect(Value.Check(BillSchema, bill)).toBe(true);
    // 0.02 per GB at the region that sends: Virginia for requests, Ireland for answers.
    expect(bill.destinations).toMatchObject([
      { destination: "s3-eu", perMonth: expect.closeTo(0.14, 6), unknown: null },
    ]);
    expect(bill.outside).toMatchObject([{ source: { name: "web" }, perMonth: expect.closeTo(0.14, 6) }]);
    expect((await get(`${PATH}?namespace=other`)).json<Bill>().outside).toEqual([]);
    expect(await registry.metrics()).toMatch(
      /^isochrone_traffic_outside_cost_per_hour\{destination="s3-eu",currency="USD"\} 0\.00019/m,
    );
  });
});

describe("a file of prices", () => {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-prices-"));
  const path = join(folder, "prices.yaml");
  const row = (out: string): string => `prices:
    - {provider: aws, scope: zone-to-zone, from: us-east-1, out: ${out}, in: 0, per: GB,
       currency: USD, source: contract, date: 2026-10}`;
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test("is used, and a bad one is refused", async () => {
    await running.stop();
    writeFileSync(path, row("0.1"));
    await start({ prices: loadPrices(path) });
    await traffic();
    expect((await get(PATH)).json<Bill>().total.perMonth).toBeCloseTo(0.3, 6);
    writeFileSync(path, row("-1"));
    expect(() => loadPrices(path)).toThrow(`${path}: prices[0].out must be a number from 0 to 10000, got -1`);
    expect(() => pricesIfAny(path)).toThrow(/got -1/);
    writeFileSync(path, "prices: [");
    expect(() => loadPrices(path)).toThrow(/prices must be in a readable YAML or JSON file, got /);
    expect(() => loadPrices("/nowhere")).toThrow(/, got \/nowhere: /);
    expect(pricesIfAny("/nowhere").currency).toBe("USD");
  });
});
