import { spillOf } from "@isochrone/topology/shares";
import { createHttpApp } from "@isochrone/runtime/http";
import { createRegistry } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DispatchRig, service, slice } from "../testing/dispatch-rig.ts";
import { addDispatchRoute } from "./routes.ts";

let rig: DispatchRig;

beforeEach(() => {
  rig = new DispatchRig();
});

afterEach(() => rig.stop());

const THIRTY = slice(
  "db-1",
  ["west", "east", "north"].flatMap((zone) => Array.from({ length: 10 }, () => zone)),
);

test("hints: requests go where hints that stand send them, and zones say how full they are", async () => {
  rig.rates = { west: 200, east: 50, north: 50 };
  await rig.store.create(service({ "isochrone.dev/dispatch": "hints" }));
  await rig.store.create(THIRTY);
  rig.start();
  await rig.rounds(1);
  // Starts even and moves a tenth per round.
  const first = rig.traffic;
  expect(first).toMatchObject({
    name: "db",
    lever: "hints",
    state: "moving",
    message: null,
    abovePerSecond: 0,
  });
  expect(first.capacityPerSecond).toBeCloseTo(12.5, 6);
  await rig.rounds(12);
  const { state, zones } = rig.traffic;
  expect([state, zones.map(({ zone }) => zone)]).toEqual(["steady", ["east", "north", "west"]]);
  const west = zones[2]!;
  expect(west).toMatchObject({
    requestsPerSecond: 200,
    endpoints: 10,
    advised: { west: 0.625, east: 0.375 },
  });
  expect(west.now!["west"]).toBeCloseTo(0.625, 1);
  expect(west.loadRatio).toBeCloseTo((200 * west.now!["west"]!) / 125, 2);
  expect(west.advisedLoadRatio).toBeCloseTo(1, 6);
  expect(spillOf(zones, "advised")).toBeCloseTo(75 / 300, 3);
});

test("advise: nothing is written, and what would be better is told", async () => {
  await rig.store.create(service({ "isochrone.dev/dispatch": "advise", "isochrone.dev/capacity": "7" }));
  await rig.store.create(THIRTY);
  rig.start();
  await rig.rounds(2);
  const { lever, zones, capacityPerSecond } = rig.traffic;
  expect([lever, capacityPerSecond, rig.writes]).toEqual(["advise", 7, []]);
  expect([spillOf(zones, "now"), spillOf(zones, "advised")]).toEqual([expect.closeTo(2 / 3, 2), 0]);
});

test("istio: requests go where the rule sends them", async () => {
  await rig.store.create(service({ "isochrone.dev/dispatch": "istio" }));
  await rig.store.create(THIRTY);
  rig.start();
  await rig.rounds(12);
  expect(rig.traffic).toMatchObject({ lever: "istio", state: "steady" });
  expect(spillOf(rig.traffic.zones, "now")).toBe(0);
});

test("the dispatcher spreads without weights: callers alone are told", async () => {
  await rig.store.create(service({ "isochrone.dev/dispatch": "dispatcher" }));
  await rig.store.create(THIRTY);
  rig.start();
  await rig.rounds(1);
  const { lever, state, zones } = rig.traffic;
  expect([lever, state, rig.writes]).toEqual(["dispatcher", null, []]);
  expect(zones).toMatchObject([{ zone: "west", requestsPerSecond: 60, endpoints: null }, {}, {}]);
});

test("a Service that is refused says why, and what its callers ask", async () => {
  await rig.store.create(service({ "isochrone.dev/dispatch": "hints", "isochrone.dev/capacity": "many" }));
  await rig.store.create(THIRTY);
  rig.start();
  await rig.rounds(1);
  const { lever, state, message, zones } = rig.traffic;
  expect([lever, state]).toEqual(["none", "refused"]);
  expect(message).toContain("isochrone.dev/capacity");
  expect(zones).toMatchObject([{ zone: "west", requestsPerSecond: 60, endpoints: null, now: null }, {}, {}]);
});

test("the route answers of the leader, and says who doesn't", async () => {
  const answers: [number, unknown][] = [];
  for (const dispatch of [{ traffic: () => [] }, { traffic: () => null }, null]) {
    const app = await createHttpApp({
      name: "test",
      logger: new MemoryLogger(),
      registry: createRegistry(),
      bodyLimitBytes: 1000,
      ready: () => ({ ready: true, reasons: [] }),
    });
    addDispatchRoute(app, dispatch);
    const response = await app.inject("/api/v1/dispatch");
    answers.push([response.statusCode, response.json()]);
    await app.close();
  }
  expect(answers).toEqual([
    [200, { services: [] }],
    [503, expect.objectContaining({ code: "not_leading" })],
    [503, expect.objectContaining({ code: "dispatch_off" })],
  ]);
});
