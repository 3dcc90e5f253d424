import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { Demand, ServiceDemand, ServiceTraffic } from "@isochrone/topology";
import { expect, test } from "vitest";
import type { PublishedGraphs } from "../domain/graphs/graph-keeper.ts";
import { AggregatorError } from "../ports/errors.ts";
import { TrafficKeeper } from "./traffic-keeper.ts";

const asks = (name: string): ServiceDemand => ({
  namespace: "shop",
  name,
  deadlineMs: 100,
  zones: [
    {
      zone: "west",
      requestsPerSecond: 9,
      errorRatio: 0,
      inTimeRatio: 0.5,
      latencyMs: { p50: 7, p90: 8, p99: 9 },
      ageSeconds: 1,
    },
  ],
});

const SPREAD: ServiceTraffic = {
  namespace: "shop",
  name: "db",
  lever: "hints",
  state: "steady",
  message: null,
  deadlineMs: 100,
  capacityPerSecond: 6,
  abovePerSecond: 0,
  zones: [
    {
      zone: "west",
      requestsPerSecond: 9,
      inTimeRatio: 0.5,
      p50Ms: 7,
      endpoints: 1,
      loadRatio: 1.5,
      advisedLoadRatio: 1,
      now: { west: 1 },
      advised: { west: 0.667, east: 0.333 },
    },
  ],
};

function build({ isBuilt = true } = {}) {
  const clock = new ManualClock();
  const logger = new MemoryLogger();
  let answer: () => { status: number; body: unknown } = () => ({ status: 200, body: { services: [SPREAD] } });
  let replicas: typeof answer = () => ({ status: 503, body: { code: "replicas_off" } });
  const demand: Demand = {
    version: 1,
    observedAt: "2026-01-01T00:00:00.000Z",
    windowSeconds: 300,
    services: [asks("cart"), asks("db")],
  };
  const asked: string[] = [];
  const keeper = new TrafficKeeper({
    decisions: {
      fetch: async (path) => {
        asked.push(path);
        const { status, body } = path.endsWith("/replicas") ? replicas() : answer();
        return { status, contentType: "application/json", body: Buffer.from(JSON.stringify(body)) };
      },
    },
    graphs: () => (isBuilt ? ({ demand: () => demand } as unknown as PublishedGraphs) : null),
    horizonMs: 60_000,
    clock,
    logger,
  });
  return {
    clock,
    keeper,
    logger,
    asked,
    now: async () => keeper.now(new AbortController().signal),
    answer: (next: typeof answer) => (answer = next),
    answerReplicas: (next: typeof answer) => (replicas = next),
  };
}

test("Services that ask for weights stand beside those that ask for nothing", async () => {
  const { now, asked } = build();
  const { dispatch, services, windowSeconds } = await now();
  expect([dispatch, windowSeconds]).toEqual([{ isOn: true, message: null }, 300]);
  expect(services.map(({ name, lever }) => [name, lever])).toEqual([
    ["cart", null],
    ["db", "hints"],
  ]);
  expect(services[1]).toEqual(SPREAD);
  expect(services[0]!.zones).toMatchObject([
    { zone: "west", requestsPerSecond: 9, inTimeRatio: 0.5, p50Ms: 7, endpoints: null, now: null },
  ]);
  expect(asked).toEqual(["/api/v1/dispatch", "/api/v1/dispatch/replicas"]);
});

test("where nobody spreads requests, can be reached or read, demand is shown with the reason", async () => {
  const { now, answer, asked } = build();
  answer(() => ({ status: 503, body: { code: "dispatch_off" } }));
  expect((await now()).dispatch).toEqual({
    isOn: false,
    message: "no scheduler-plugin spreads requests (dispatch.levers)",
  });
  expect(asked).toHaveLength(1);
  answer(() => {
    throw new AggregatorError(
      "decisions_unreachable",
      "the scheduler-plugin can't be reached: no connection",
    );
  });
  const away = await now();
  expect(away.dispatch.message).toMatch(/can't be reached/);
  expect(away.services.map(({ name, lever }) => [name, lever])).toEqual([
    ["cart", null],
    ["db", null],
  ]);
  answer(() => ({ status: 200, body: { services: [{ ...SPREAD, capacityPerSecond: -1 }] } }));
  expect((await now()).dispatch.message).toMatch(/can't be read.*capacityPerSecond/);
  answer(() => ({ status: 200, body: { services: [SPREAD, SPREAD] } }));
  expect((await now()).dispatch.message).toMatch(/must be unique/);
});

test("one that doesn't lead is asked again", async () => {
  const { now, answer, asked } = build();
  answer(() => (asked.length < 3 ? { status: 503, body: {} } : { status: 200, body: { services: [] } }));
  expect((await now()).dispatch.isOn).toBe(true);
  expect(asked.slice(0, 3)).toEqual(Array.from({ length: 3 }, () => "/api/v1/dispatch"));
});

test("zones have the replicas that are wanted there, and zones with nothing else are added", async () => {
  const { now, answerReplicas } = build();
  const zone = { requestsPerSecond: 9, forecastPerSecond: 9, replicas: 1, inTimeRatio: 0.9, reason: null };
  const service = {
    namespace: "shop",
    name: "db",
    mode: "proposal",
    state: "steady",
    refused: null,
    workload: null,
    capacityPerSecond: 6,
    replicas: 1,
    wanted: 3,
    zones: [
      { ...zone, zone: "west", wanted: 2 },
      { ...zone, zone: "east", wanted: 1 },
    ],
    changes: [],
  };
  const report = { frameAt: null, frameSeconds: 30, changesPerFrame: 10, leads: true, trouble: null };
  answerReplicas(() => ({ status: 200, body: { ...report, services: [service] } }));
  const [cart, db] = (await now()).services;
  expect(cart!.zones[0]).not.toHaveProperty("proposedEndpoints");
  expect(db!.zones.map((each) => [each.zone, each.proposedEndpoints])).toEqual([
    ["west", 2],
    ["east", 1],
  ]);
  answerReplicas(() => ({ status: 200, body: { ...report, services: [{ ...service, mode: "magic" }] } }));
  expect((await now()).services[1]).toEqual(SPREAD);
});

test("before the first graph there is nothing, and nothing is kept", async () => {
  const { now, keeper, clock, logger } = build({ isBuilt: false });
  await expect(now()).rejects.toMatchObject({ code: "no_graph_yet", status: 503 });
  keeper.start();
  await clock.advance(20_000);
  expect(() => keeper.at(clock.now())).toThrow("no traffic is stored for");
  await keeper.stop();
  expect(logger.lines).toEqual([]);
});

test("the last minute can be looked at", async () => {
  const { keeper, clock, answer } = build();
  const beganMs = clock.now();
  keeper.start();
  await clock.advance(20_000);
  answer(() => ({ status: 503, body: { code: "dispatch_off" } }));
  await clock.advance(20_000);
  expect(JSON.parse(keeper.at(beganMs + 20_000))).toMatchObject({ dispatch: { isOn: true } });
  expect(JSON.parse(keeper.at(beganMs + 40_000))).toMatchObject({ dispatch: { isOn: false } });
  await keeper.stop();
});
