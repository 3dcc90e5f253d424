import { createMemoryBus } from "@isochrone/bus/memory";
import type { MemoryBus } from "@isochrone/bus/testing";
import type { ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { TOPICS } from "@isochrone/telemetry";
import {
  ClusterGraphSchema,
  ProbePlanSchema,
  WorkflowGraphSchema,
  WorkflowListSchema,
  type ClusterGraphSnapshot,
  type ProbePlan,
  type WorkflowGraphSnapshot,
  type WorkflowList,
} from "@isochrone/topology";
import { Value } from "typebox/value";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createAggregator, type Aggregator } from "./aggregator.ts";
import type { IncomingRecord } from "./domain/ingest/ingest.ts";
import { aggregatorSettings } from "./settings.ts";
import { deploymentObject, fill, nodeObject, podObject } from "./testing/cluster.ts";
import { counter, istio, probeMetrics, recordOf } from "./testing/records.ts";

const PROBE_LABELS = { "app.kubernetes.io/name": "isochrone-probe" };

let clock: ManualClock;
let bus: MemoryBus;
let store: ClusterStore;
let logger: MemoryLogger;
let aggregator: Aggregator;

beforeEach(async () => {
  clock = new ManualClock();
  logger = new MemoryLogger();
  bus = createMemoryBus({ clock });
  store = createMemoryStore({ clock });
  await fill(store, [
    nodeObject("a", "z1"),
    nodeObject("b", "z2"),
    nodeObject("c", "z2"),
    podObject("isochrone", "probe-a", "a", { labels: PROBE_LABELS, ip: "10.0.0.1" }),
    podObject("isochrone", "probe-b", "b", { labels: PROBE_LABELS, ip: "10.0.0.2" }),
    deploymentObject("shop", "web", "checkout", {
      "isochrone.dev/dependencies": '[{"name": "cache", "maxNetworkCost": 5}]',
    }),
    deploymentObject("shop", "db", "checkout"),
    deploymentObject("shop", "cache", "checkout"),
  ]);
  const { aggregator: config } = loadSettings([aggregatorSettings], {
    env: {},
    file: {
      aggregator: { host: "127.0.0.1", port: 0, windowMs: 30_000, paneMs: 2000, buildIntervalMs: 1000 },
    },
  });
  aggregator = createAggregator(config, {
    bus,
    store,
    clock,
    random: seededRandom(1),
    logger,
    registry: createRegistry(),
  });
  await aggregator.start();
  await clock.advance(0);
});

afterEach(async () => {
  await aggregator.stop();
  await bus.close();
});

async function publish(topic: string, { key, value, headers }: IncomingRecord): Promise<void> {
  await bus.publish(topic, [{ key, value, headers }]);
  await clock.advance(1000);
}

interface Answer<T> {
  readonly status: number;
  readonly body: T;
  readonly headers: Readonly<Record<string, unknown>>;
}

async function get(url: string, headers: Record<string, string> = {}): Promise<Answer<unknown>> {
  const answer = await aggregator.app.inject({ url, headers });
  return {
    status: answer.statusCode,
    body: answer.body === "" ? null : JSON.parse(answer.body),
    headers: answer.headers,
  };
}

const getCluster = async (query = ""): Promise<Answer<ClusterGraphSnapshot>> =>
  (await get(`/api/v1/graph/cluster${query}`)) as Answer<ClusterGraphSnapshot>;

describe("graph API", () => {
  test("a probe's record on the bus becomes a link of the cluster graph", async () => {
    const timeMs = clock.now();
    await publish(
      TOPICS.probe,
      recordOf(
        "a",
        probeMetrics([
          { target: "b", timeMs, rttsMs: [10, 20, 30], outcomes: { sent: 4, received: 3, lost: 1 } },
        ]),
        { sequence: 1, arrivedAtMs: timeMs },
      ),
    );

    const { status, body } = await getCluster();

    expect(status).toBe(200);
    expect(Value.Check(ClusterGraphSchema, body)).toBe(true);
    expect(body.nodes.map(({ name, zone }) => [name, zone])).toEqual([
      ["a", "z1"],
      ["b", "z2"],
      ["c", "z2"],
    ]);
    expect(body.links).toHaveLength(1);
    expect(body.links[0]).toMatchObject({
      source: "a",
      target: "b",
      method: "udp_rr",
      lossRatio: 0.25,
      provisional: true,
    });
    expect(body.links[0]!.costMs).toBeCloseTo(20, 0);
  });

  test("traffic becomes a channel of the workflow, beside the declared one", async () => {
    const labels = istio("source", "web", "db", { response_code: "200" });
    const t0 = clock.now();
    await publish(
      TOPICS.traffic,
      recordOf("a", [counter("istio_requests_total", labels, t0, 100)], { sequence: 1, arrivedAtMs: t0 }),
    );
    const t1 = clock.now();
    await publish(
      TOPICS.traffic,
      recordOf("a", [counter("istio_requests_total", labels, t1, 107)], { sequence: 2, arrivedAtMs: t1 }),
    );

    const list = await get("/api/v1/graph/workflows");
    const { body } = (await get("/api/v1/graph/workflows/shop/checkout")) as Answer<WorkflowGraphSnapshot>;

    expect(Value.Check(WorkflowListSchema, list.body)).toBe(true);
    expect(Value.Check(WorkflowGraphSchema, body)).toBe(true);
    expect(body.workloads.map(({ name }) => name)).toEqual(["cache", "db", "web"]);
    expect(body.channels).toMatchObject([
      { source: "web", target: "cache", origin: "declared", maxNetworkCost: 5, requestsPerSecond: null },
      { source: "web", target: "db", origin: "observed", requestsPerSecond: 7, errorRatio: 0 },
    ]);
  });

  test("graphs of workflows come with their list, page by page, and since an answer only those that changed", async () => {
    await fill(store, [
      deploymentObject("shop", "cart", "buying"),
      deploymentObject("bank", "pay", "paying"),
    ]);
    await clock.advance(1000);
    const read = async (query: string): Promise<WorkflowList> => {
      const { status, body } = (await get(
        `/api/v1/graph/workflows?include=graphs${query}`,
      )) as Answer<WorkflowList>;
      expect(status).toBe(200);
      expect(Value.Check(WorkflowListSchema, body)).toBe(true);
      return body;
    };
    const names = ({ graphs }: WorkflowList): string[] => graphs!.map(({ name }) => name);

    const first = await read("&limit=2");
    const second = await read(`&limit=2&cursor=${first.nextCursor}`);
    expect([names(first), names(second), second.nextCursor]).toEqual([
      ["paying", "isochrone"],
      ["buying", "checkout"],
      null,
    ]);
    expect(first.workflows).toHaveLength(4);
    expect(await get("/api/v1/graph/workflows/shop/checkout")).toMatchObject({ body: second.graphs![1] });

    expect(names(await read(`&since=${first.id}`))).toEqual([]);
    await fill(store, [deploymentObject("shop", "card", "buying")]);
    await clock.advance(1000);
    const changed = await read(`&since=${first.id}`);
    expect(names(changed)).toEqual(["buying"]);
    expect(changed.version).toBeGreaterThan(first.version);
    expect(names(await read(`&since=${changed.id}`))).toEqual([]);
    // IDs of another process, of a future version, and an invalid one.
    for (const since of [`other-${first.version}`, changed.id!.replace(/\d+$/, "999"), "x"])
      expect(names(await read(`&since=${since}`))).toHaveLength(4);
  });

  test("a plan names the peers that are ready and have a probe, and is not sent twice", async () => {
    const { body, headers } = (await get("/api/v1/probe-plan/a")) as Answer<ProbePlan>;
    const again = await get("/api/v1/probe-plan/a", { "if-none-match": String(headers["etag"]) });

    expect(Value.Check(ProbePlanSchema, body)).toBe(true);
    expect(body).toMatchObject({
      node: "a",
      identity: "10.0.0.1",
      zone: "z1",
      peers: [{ node: "b", address: "10.0.0.2", identity: "10.0.0.2" }],
    });
    expect(again.status).toBe(304);
  });

  test("a plan follows the probes: a new one is in it at once, with another version", async () => {
    const before = (await get("/api/v1/probe-plan/a")) as Answer<ProbePlan>;
    await fill(store, [podObject("isochrone", "probe-c", "c", { labels: PROBE_LABELS, ip: "10.0.0.3" })]);
    await clock.advance(10);
    const after = (await get("/api/v1/probe-plan/a")) as Answer<ProbePlan>;
    expect(after.body.peers.map(({ node }) => node)).toEqual(["b", "c"]);
    expect(after.body.version).not.toBe(before.body.version);
  });

  test.each([
    ["/api/v1/probe-plan/nowhere", 404, "unknown_node"],
    ["/api/v1/probe-plan/c", 503, "probe_not_ready"],
    ["/api/v1/graph/workflows/shop/none", 404, "unknown_workflow"],
    ["/api/v1/graph/cluster?cursor=xyz", 400, "bad_query"],
    ["/api/v1/graph/cluster?window=slow", 400, "request_invalid"],
    ["/api/v1/graph/cluster?nodes=a,b&include=everything", 400, "request_invalid"],
    ["/api/v1/graph/cluster?include=estimated", 400, "bad_query"],
    ["/api/v1/graph/cluster?nodes=a,b&include=estimated&limit=5", 400, "bad_query"],
    ["/api/v1/graph/workflows?include=graphs&cursor=xyz", 400, "bad_query"],
    ["/api/v1/graph/workflows?include=graphs&window=fast", 400, "bad_query"],
    ["/api/v1/graph/workflows?include=graphs&limit=0", 400, "request_invalid"],
    ["/api/v1/decisions", 503, "decisions_off"],
    ["/nothing/here", 404, "not_found"],
  ])("%s is a problem with status %i and code %s", async (path, status, code) => {
    const answer = await get(path);
    expect(answer).toMatchObject({ status, body: { status, code } });
    expect(answer.headers["content-type"]).toContain("application/problem+json");
  });

  test.each([
    ["/api/v1/graph/cluster?nodes=a,b&included=estimated", "included"],
    ["/api/v1/graph/workflows?when=1", "when"],
    ["/api/v1/graph/workflows/shop/checkout?limit=5", "limit"],
    ["/api/v1/probe-plan/a?window=full", "window"],
    ["/api/v1/events?since=5", "since"],
  ])("%s is refused, and the parameter that isn't known is named", async (path, parameter) => {
    const { status, body } = await get(path);
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: "request_invalid" });
    expect((body as { detail: string }).detail).toContain(`${parameter} is not known`);
  });

  test("a graph is sent again only when its version changed", async () => {
    const first = await get("/api/v1/graph/cluster");
    const etag = { "if-none-match": String(first.headers["etag"]) };
    expect((await get("/api/v1/graph/cluster", etag)).status).toBe(304);
    await clock.advance(1000);
    expect((await get("/api/v1/graph/cluster", etag)).status).toBe(200);
  });

  test("pages by cursor give every link once, and a list of nodes only those between them", async () => {
    const timeMs = clock.now();
    const record = (node: string, targets: string[]) =>
      recordOf(
        node,
        targets.flatMap((target) => probeMetrics([{ target, timeMs, rttsMs: [1] }])),
        { sequence: 1, arrivedAtMs: timeMs },
      );
    await publish(TOPICS.probe, record("a", ["b", "c"]));
    await publish(TOPICS.probe, record("b", ["a", "c"]));
    const seen: string[] = [];
    for (let query = "?limit=3"; query !== "";) {
      const { body } = await getCluster(query);
      seen.push(...body.links.map(({ source, target }) => source + target));
      query = body.nextCursor ? `?limit=3&cursor=${body.nextCursor}` : "";
    }
    expect(seen).toEqual(["ab", "ac", "ba", "bc"]);
    const part = await getCluster("?nodes=a,b");
    expect(part.body.nodes.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(part.body.links.map(({ source, target }) => source + target)).toEqual(["ab", "ba"]);
  });

  test("the fast window forgets sooner than the full one", async () => {
    const timeMs = clock.now();
    await publish(
      TOPICS.probe,
      recordOf("a", probeMetrics([{ target: "b", timeMs, rttsMs: [1] }]), {
        sequence: 1,
        arrivedAtMs: timeMs,
      }),
    );
    await clock.advance(10_000);
    expect((await getCluster("?window=fast")).body).toMatchObject({
      windowSeconds: 6,
      links: [{ rttMs: { count: 0 } }],
    });
    expect((await getCluster()).body).toMatchObject({ windowSeconds: 30, links: [{ rttMs: { count: 1 } }] });
  });

  test("the OpenAPI document names every route of the API", async () => {
    const { body } = (await get("/api/v1/openapi.json")) as Answer<{ paths: Record<string, unknown> }>;
    expect(Object.keys(body.paths)).toEqual(
      expect.arrayContaining([
        "/api/v1/graph/cluster",
        "/api/v1/graph/workflows",
        "/api/v1/graph/workflows/{namespace}/{name}",
        "/api/v1/events",
        "/api/v1/probe-plan/{node}",
        "/api/v1/graph/demand",
        "/api/v1/graph/history",
        "/api/v1/graph/history/link",
        "/api/v1/health",
        "/api/v1/decisions",
        "/api/v1/acts",
        "/api/v1/plans",
        "/api/v1/savings",
        "/api/v1/graph/prices",
      ]),
    );
  });

  test("metrics tell what was taken and what was refused", async () => {
    await publish(TOPICS.probe, {
      key: "evil",
      value: new Uint8Array([255, 255]),
      headers: {},
      appendedAtMs: 0,
    });
    await publish(TOPICS.probe, {
      key: "evil",
      value: new Uint8Array([255, 255]),
      headers: {},
      appendedAtMs: 0,
    });
    const { body } = await aggregator.app.inject("/metrics");
    expect(body).toContain('isochrone_aggregator_refused_total{reason="malformed"} 2');
    expect(body).toContain("isochrone_records_missing_total 0");
    expect(body).toContain("isochrone_aggregator_bandwidth_refused_total 0");
    expect(logger.lines.filter(({ event }) => event === "telemetry refused")).toHaveLength(1);
  });
});

describe("ingest over HTTP", () => {
  test("what is posted to /v1/metrics is in the next graph", async () => {
    const timeMs = clock.now();
    const { value } = recordOf("a", probeMetrics([{ target: "c", timeMs, rttsMs: [7] }]), {
      arrivedAtMs: timeMs,
    });
    const answer = await aggregator.app.inject({
      method: "POST",
      url: "/v1/metrics",
      headers: { "content-type": "application/x-protobuf" },
      payload: Buffer.from(value),
    });
    await clock.advance(1000);
    expect(answer.statusCode).toBe(200);
    expect((await getCluster()).body.links).toMatchObject([
      { source: "a", target: "c", rttMs: { count: 1 } },
    ]);
  });

  test("a body that is no OTLP is refused, counted and named once", async () => {
    const post = () =>
      aggregator.app.inject({
        method: "POST",
        url: "/v1/metrics",
        headers: { "content-type": "application/x-protobuf" },
        payload: Buffer.from([255, 255]),
      });
    expect((await post()).statusCode).toBe(400);
    expect((await post()).statusCode).toBe(400);
    expect((await aggregator.app.inject("/metrics")).body).toContain(
      'isochrone_aggregator_http_refused_total{reason="malformed"} 2',
    );
    expect(logger.lines.filter(({ event }) => event === "telemetry request refused")).toHaveLength(1);
  });
});
