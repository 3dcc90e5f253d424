import { createRegistry, loadSettings } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { RequestGate } from "@isochrone/runtime/http";
import {
  accessGate,
  accessSettings,
  type AccessDecision,
  type AccessSettings,
} from "@isochrone/kubernetes/access";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { afterEach, describe, expect, test } from "vitest";
import { startAggregator, type RunningAggregator } from "../testing/aggregator.ts";
import { openAccess } from "./access.ts";

const clock = new ManualClock();
const running: RunningAggregator[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop();
});

const settingsOf = (access: Readonly<Record<string, unknown>>): AccessSettings =>
  loadSettings([accessSettings], { env: {}, file: { access } }).access;

function open(access: Readonly<Record<string, unknown>>, host: string, hasCluster = false) {
  const logger = new MemoryLogger();
  const store = hasCluster ? createMemoryStore({ clock }) : null;
  const gate = openAccess(settingsOf(access), { store, clock, logger, registry: createRegistry(), host });
  return { gate, logger };
}

describe("openAccess", () => {
  test.each(["127.0.0.1", "127.8.0.9", "::1", "localhost"])("leaves %s open by itself", (host) => {
    const { gate, logger } = open({}, host);
    expect(gate).toBeUndefined();
    expect(logger.lines).toEqual([]);
  });

  test.each(["0.0.0.0", "::", "10.0.0.4", "::ffff:10.0.0.4", "graph.example"])(
    "leaves %s open only when it is told to, and warns of it",
    (host) => {
      expect(() => open({}, host)).toThrow("access.mode (ISOCHRONE_ACCESS_MODE) must be set");
      const { gate, logger } = open({ mode: "none" }, host);
      expect(gate).toBeUndefined();
      expect(logger.lines[0]).toMatchObject({ level: "warn" });
    },
  );

  test("asks for tokens even on a loopback address when it is told to, and needs somebody to ask", () => {
    expect(open({ mode: "kubernetes" }, "127.0.0.1", true).gate).toBeDefined();
    expect(() => open({ mode: "kubernetes" }, "127.0.0.1")).toThrow("without an API server");
  });
});

function gateOf(decide: (token: string) => AccessDecision): { gate: RequestGate; asked: string[] } {
  const asked: string[] = [];
  const gate = accessGate({
    pathPrefix: "/isochrone",
    review: {
      decide({ token, verb, path }) {
        asked.push(`${verb} ${path}`);
        return decide(token);
      },
    },
  });
  return { gate, asked };
}

async function serve(gate: RequestGate, isMetricsOpen = true): Promise<RunningAggregator> {
  const started = await startAggregator({ parts: { access: { gate, isMetricsOpen } } });
  running.push(started);
  return started;
}

const allowed = (): AccessDecision => ({ kind: "allowed", user: "probe", node: null, pod: null });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("the graph API with a gate", () => {
  test("answers nobody who has no token, but for health, metrics and the empty page", async () => {
    const { gate } = gateOf(allowed);
    const { aggregator } = await serve(gate);
    const codes: Record<string, number> = {};
    for (const url of ["/api/v1/graph/cluster", "/api/v1/events", "/api/v1/openapi.json", "/nowhere"])
      codes[url] = (await aggregator.app.inject(url)).statusCode;
    for (const url of ["/healthz", "/readyz", "/metrics"])
      codes[url] = (await aggregator.app.inject(url)).statusCode;
    codes["POST /v1/metrics"] = (
      await aggregator.app.inject({ method: "POST", url: "/v1/metrics", payload: "x" })
    ).statusCode;
    expect(codes).toEqual({
      "/api/v1/graph/cluster": 401,
      "/api/v1/events": 401,
      "/api/v1/openapi.json": 401,
      "/nowhere": 401,
      "/healthz": 200,
      "/readyz": 200,
      "/metrics": 200,
      "POST /v1/metrics": 401,
    });
  });

  test("keeps metrics for those with a token when it is told to", async () => {
    const { gate, asked } = gateOf(allowed);
    const { aggregator } = await serve(gate, false);
    expect((await aggregator.app.inject("/metrics")).statusCode).toBe(401);
    expect((await aggregator.app.inject({ url: "/metrics", headers: bearer("t") })).statusCode).toBe(200);
    expect(asked).toEqual(["get /metrics"]);
  });

  test("asks for verb and path: of probe plans and leases one question for all nodes, of the unknown none", async () => {
    const { gate, asked } = gateOf(allowed);
    const { app } = (await serve(gate)).aggregator;
    const headers = bearer("t");
    await app.inject({ url: "/api/v1/graph/workflows/shop/cart?at=2026-01-01T00:00:00Z", headers });
    await app.inject({ method: "HEAD", url: "/api/v1/graph/cluster", headers });
    await app.inject({ url: "/api/v1/probe-plan/node-7", headers });
    await app.inject({ method: "DELETE", url: "/api/v1/bandwidth-leases/abc", headers });
    await app.inject({ method: "POST", url: "/v1/metrics", headers });
    expect((await app.inject({ url: "/nowhere", headers })).statusCode).toBe(404);
    expect(asked).toEqual([
      "get /isochrone/api/v1/graph/workflows/shop/cart",
      "get /isochrone/api/v1/graph/cluster",
      "get /isochrone/v1/probe-plan",
      "delete /isochrone/api/v1/bandwidth-leases/*",
      "post /isochrone/v1/metrics",
      "get null",
    ]);
  });

  test.each([
    [{ kind: "unauthenticated", detail: "why" }, 401, "unauthenticated"],
    [{ kind: "forbidden", user: "probe", detail: "why" }, 403, "forbidden"],
    [{ kind: "throttled", detail: "why" }, 503, "access_throttled"],
    [{ kind: "unavailable", detail: "why" }, 503, "access_unavailable"],
  ] as const)("answers %o with %i as a problem", async (decision, status, code) => {
    const { gate } = gateOf(() => decision);
    const { app } = (await serve(gate)).aggregator;
    const answer = await app.inject({ url: "/api/v1/graph/cluster", headers: bearer("t") });
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.json()).toMatchObject({ status, code, detail: "why" });
    expect(answer.headers["www-authenticate"]).toBe(
      status === 401 ? 'Bearer realm="isochrone", error="invalid_token"' : undefined,
    );
    expect(answer.headers["retry-after"] !== undefined).toBe(status === 503);
  });

  test("an event stream ends soon after its token does", async () => {
    let decision = allowed();
    const { gate } = gateOf(() => decision);
    const { aggregator, clock: time } = await serve(gate);
    const answer = await fetch(`${aggregator.address().url}/api/v1/events`, { headers: bearer("t") });
    expect(answer.status).toBe(200);
    let text = "";
    const ended = (async () => {
      for await (const chunk of answer.body!) text += Buffer.from(chunk).toString();
    })();
    await time.advance(15_000);
    decision = { kind: "unauthenticated", detail: "deleted" };
    await time.advance(15_000);
    await ended;
    expect(text).toContain(": heartbeat");
    expect((await aggregator.app.inject("/metrics")).body).toContain(
      'isochrone_aggregator_event_clients_dropped_total{reason="not_allowed"} 1',
    );
  });
});
