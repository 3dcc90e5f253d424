import type { ServiceTraffic, ZoneTraffic } from "@isochrone/topology";
import { inTimeOf, spillOf } from "@isochrone/topology/shares";
import { describe, expect, test } from "vitest";
import {
  callersOf,
  cellOf,
  headroomOf,
  inOrder,
  requestsOf,
  serversOf,
  totals,
  troubleOf,
} from "./traffic-model.ts";

const zone = (name: string | null, fields: Partial<ZoneTraffic> = {}): ZoneTraffic => ({
  zone: name,
  requestsPerSecond: 0,
  inTimeRatio: null,
  p50Ms: null,
  endpoints: null,
  loadRatio: null,
  advisedLoadRatio: null,
  now: null,
  advised: null,
  ...fields,
});

const WEST = zone("west", {
  requestsPerSecond: 90,
  inTimeRatio: 0.5,
  endpoints: 2,
  loadRatio: 1.5,
  advisedLoadRatio: 1,
  now: { west: 1 },
  advised: { west: 0.667, east: 0.333 },
});
const EAST = zone("east", {
  requestsPerSecond: 10,
  inTimeRatio: 1,
  endpoints: 2,
  loadRatio: 0.17,
  advisedLoadRatio: 0.67,
  now: { east: 1 },
  advised: { east: 1 },
});

const service = (name: string, fields: Partial<ServiceTraffic> = {}): ServiceTraffic => ({
  namespace: "shop",
  name,
  lever: "hints",
  state: "moving",
  message: null,
  deadlineMs: 100,
  capacityPerSecond: 30,
  abovePerSecond: 0,
  zones: [EAST, WEST],
  ...fields,
});

const PLAIN = service("plain", {
  lever: null,
  state: null,
  capacityPerSecond: null,
  abovePerSecond: null,
  zones: [zone("west", { requestsPerSecond: 90, inTimeRatio: 0.5 })],
});

describe("a Service", () => {
  test.each<[string, ServiceTraffic, RegExp]>([
    ["has a full zone", service("a"), /^west: full, others have room$/],
    ["has room", service("a", { zones: [EAST] }), /^nothing$/],
    ["is above all capacity", service("a", { abovePerSecond: 12 }), /^12 requests.s are above/],
    ["is refused", service("a", { state: "refused", message: "it is headless" }), /^it is headless$/],
    ["is stale", service("a", { state: "stale", message: "old" }), /^old$/],
  ])("%s", (_, each, words) => {
    expect(troubleOf(each)?.words ?? "nothing").toMatch(words);
  });

  test("knows what is asked, what leaves its zone, and what room there is", () => {
    const each = service("a");
    expect([requestsOf(each), headroomOf(each)]).toEqual([100, 20]);
    expect(inTimeOf(each.zones)).toBeCloseTo(0.55, 9);
    expect(spillOf(each.zones, "now")).toBe(0);
    expect(spillOf(each.zones, "advised")).toBeCloseTo(0.3, 3);
    expect(headroomOf(PLAIN)).toBeNull();
    expect(headroomOf(service("b", { zones: [zone(null, { requestsPerSecond: 5 })] }))).toBeNull();
  });

  test("callers without a zone are in no share, and are told apart", () => {
    const lost = zone(null, { requestsPerSecond: 5 });
    const each = service("a", { zones: [EAST, zone("north", { endpoints: 1 }), lost] });
    expect(callersOf(each).map((caller) => caller.zone)).toEqual(["east", null]);
    expect(serversOf(each).map((server) => server.zone)).toEqual(["east", "north"]);
    expect(cellOf(lost, "east")).toBeNull();
    expect(spillOf(each.zones, "now")).toBe(0);
    expect(spillOf([lost], "now")).toBeNull();
  });
});

test("a cell shows what is advised where that is another share", () => {
  expect(cellOf(WEST, "west")).toEqual({ now: 1, advised: 0.667, isOwn: true });
  expect(cellOf(WEST, "east")).toEqual({ now: 0, advised: 0.333, isOwn: false });
  expect(cellOf(EAST, "west")).toEqual({ now: 0, advised: null, isOwn: false });
  expect(cellOf({ ...EAST, advised: { east: 0.997 } }, "east")!.advised).toBeNull();
});

test("Services with trouble come first, then those that are asked most", () => {
  const calm = service("calm", { zones: [EAST] });
  const refused = service("refused", { state: "refused", message: "no" });
  expect(inOrder([calm, PLAIN, service("full"), refused]).map(({ name }) => name)).toEqual([
    "refused",
    "full",
    "plain",
    "calm",
  ]);
  expect(totals({ services: [calm, PLAIN, refused] })).toEqual({
    requestsPerSecond: 200,
    inTimeRatio: expect.closeTo((10 + 45 + 55) / 200, 6),
    spread: 2,
    troubled: 1,
  });
  expect(
    totals({ services: [service("a", { zones: [zone("w", { requestsPerSecond: 1 })] })] }),
  ).toMatchObject({
    inTimeRatio: null,
  });
});
