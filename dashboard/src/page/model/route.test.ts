import { describe, expect, test } from "vitest";
import { formatRoute, isAlwaysNow, parseRoute, type Route } from "./route.ts";

const view = { quantity: "p50", level: null, at: null } as const;

describe("routes", () => {
  test.each<[string, Route]>([
    ["#/network", { place: { page: "network", view: "matrix" }, view }],
    ["#/overview", { place: { page: "overview" }, view }],
    ["#/network/map", { place: { page: "network", view: "map" }, view }],
    ["#/network/map/a%2Fb", { place: { page: "network", view: "map", from: "a/b" }, view }],
    ["#/pair/a%2Fb/%3Cb%3E%20%22c", { place: { page: "pair", source: "a/b", target: '<b> "c' }, view }],
    [
      "#/workflows/default/sample",
      { place: { page: "workflows", workflow: { namespace: "default", name: "sample" } }, view },
    ],
    ["#/streams", { place: { page: "streams", job: null }, view }],
    ["#/bill", { place: { page: "bill" }, view }],
    ["#/traffic", { place: { page: "traffic", service: null }, view }],
    ["#/traffic/shop/db", { place: { page: "traffic", service: { namespace: "shop", name: "db" } }, view }],
    ["#/streams/site/gate", { place: { page: "streams", job: { namespace: "site", name: "gate" } }, view }],
    ["#/decisions/x-1", { place: { page: "decisions", kind: "decision", id: "x-1" }, view }],
    ["#/plans/x-1", { place: { page: "decisions", kind: "plan", id: "x-1" }, view }],
    [
      "#/health?at=2026-01-01T00%3A00%3A00Z",
      { place: { page: "health" }, view: { ...view, at: "2026-01-01T00:00:00Z" } },
    ],
    [
      "#/network?show=loss&level=zones",
      { place: { page: "network", view: "matrix" }, view: { ...view, quantity: "loss", level: "zones" } },
    ],
  ])("%s can be read and written", (fragment, route) => {
    expect(parseRoute(fragment)).toEqual(route);
    expect(formatRoute(route)).toBe(fragment);
  });

  test.each(["", "#", "#/nowhere/else", "#/%E0%A4%A", "#/?show=<script>&level=9&at=yesterday", "#///"])(
    "%s leads to the overview",
    (fragment) => expect(parseRoute(fragment)).toEqual({ place: { page: "overview" }, view }),
  );

  test.each(["#/pair/only-one", "#/network/%E0%A4%A", "#/network?show=<script>&level=9&at=yesterday"])(
    "%s leads to the matrix",
    (fragment) => expect(parseRoute(fragment)).toEqual({ place: { page: "network", view: "matrix" }, view }),
  );
});

test("pages of what happens and of health are of now, whatever moment the others show", () => {
  const isNow = (fragment: string): boolean => isAlwaysNow(parseRoute(fragment).place);
  expect(["#/decisions", "#/plans/x", "#/health"].map(isNow)).toEqual([true, true, true]);
  expect(["#/network", "#/pair/a/b", "#/workflows"].map(isNow)).toEqual([false, false, false]);
});
