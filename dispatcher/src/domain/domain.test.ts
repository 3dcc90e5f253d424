import { describe, expect, test } from "vitest";
import { readAbsolute, readAuthority } from "./authority.ts";
import { deadlineLeft, leftHeader } from "./deadline-left.ts";
import { passedOn, passedOnTe, passedOnTrailers, withHop } from "./headers.ts";
import { readLoadHeader, readLoadJson } from "./load-report.ts";
import { mayRetry, RetryBudget } from "./retries.ts";
import { Shares } from "./shares.ts";
import { addressesOf, type PodSlice } from "./slices.ts";

test.each([
  ["web.shop", { service: "shop/web", port: null }],
  ["WEB.Shop.SVC:8080", { service: "shop/web", port: 8080 }],
  ["web.shop.svc.cluster.local.", { service: "shop/web", port: null }],
  ["web", null],
  ["a.b.c.d", null],
  ["web.shop:0", null],
  ["web.shop:99999", null],
  ["-web.shop", null],
  ["[::1]:80", null],
  ["web.shop/../x", null],
  [`${"a".repeat(64)}.shop`, null],
  [`web.shop.svc.${"a.".repeat(400)}`, null],
])("the host %s names %o", (text, expected) => expect(readAuthority(text)).toEqual(expected));

test.each([
  ["http://web.shop/a?b", { authority: "web.shop", path: "/a?b" }],
  ["http://web.shop", { authority: "web.shop", path: "/" }],
  ["http://web.shop?x=1", { authority: "web.shop", path: "/?x=1" }],
  ["https://web.shop/", null],
  ["http://user@web.shop/", null],
  ["", null],
])("the target %s is read as %o", (url, expected) => expect(readAbsolute(url)).toEqual(expected));

describe("deadlines", () => {
  test.each([
    [{ "grpc-timeout": "1500m" }, 1_500, "grpc-timeout"],
    [{ "grpc-timeout": "2S" }, 2_000, "grpc-timeout"],
    [{ "grpc-timeout": "100u" }, 0.1, "grpc-timeout"],
    [{ "x-envoy-upstream-rq-timeout-ms": "250" }, 250, "x-envoy-upstream-rq-timeout-ms"],
    [{ "grpc-timeout": "1S", "x-envoy-upstream-rq-timeout-ms": "250" }, 1_000, "grpc-timeout"],
    [{ "x-envoy-upstream-rq-timeout-ms": "0" }, null, null],
    [{ "x-envoy-upstream-rq-timeout-ms": "999999999999999" }, null, null],
    [{ "grpc-timeout": "99999999H" }, null, null],
    [{}, 700, "annotation"],
  ])("of %o are %s ms, by %s", (headers, leftMs, source) =>
    expect(deadlineLeft(headers, 700)).toEqual({ leftMs, source, isMalformed: false }),
  );

  test.each(["-1S", "1.5S", "S", "", "1e3S", "0x1S", "1 S", "123456789S"])("of %s are malformed", (text) =>
    expect(deadlineLeft({ "grpc-timeout": text }, null)).toEqual({
      leftMs: null,
      source: null,
      isMalformed: true,
    }),
  );

  test("go on as what is left, and never as none", () => {
    expect(leftHeader("grpc-timeout", 1.5)).toEqual(["grpc-timeout", "1500u"]);
    expect(leftHeader("grpc-timeout", 3_000_000)).toEqual(["grpc-timeout", "3000000m"]);
    expect(leftHeader("grpc-timeout", -5)).toEqual(["grpc-timeout", "1u"]);
    expect(leftHeader("x-envoy-upstream-rq-timeout-ms", 0.2)).toEqual([
      "x-envoy-upstream-rq-timeout-ms",
      "1",
    ]);
    expect(leftHeader("annotation", 100)).toBeNull();
  });
});

test("headers of one connection stay there, and so do those that it names", () => {
  const headers = {
    ":path": "/",
    connection: "keep-alive, X-Mine",
    "x-mine": "1",
    "transfer-encoding": "chunked",
    upgrade: "websocket",
    "set-cookie": ["a", "b"],
    accept: "*/*",
  };
  expect(passedOn(headers)).toEqual({ "set-cookie": ["a", "b"], accept: "*/*" });
  expect(passedOnTe({ te: "gzip, trailers" })).toEqual({ te: "trailers" });
  expect(passedOnTe({ te: "trailersx" })).toEqual({});
});

test("trailers that frame, route or belong to one connection don't go on", () => {
  const trailers = {
    "grpc-status": "0",
    "x-sum": "1",
    "keep-alive": "x",
    te: "gzip",
    host: "b",
    trailer: "x-sum",
    "content-length": "5",
    "transfer-encoding": "chunked",
    upgrade: "websocket",
    ":status": "200",
  };
  expect(passedOnTrailers(trailers)).toEqual({ "grpc-status": "0", "x-sum": "1" });
});

describe("shares", () => {
  test("one key takes half of all, and each newcomer still finds room", () => {
    const shares = new Shares(1_200);
    const taken = (key: string): number => {
      let count = 0;
      for (; shares.hasRoom(key, 1); count++) shares.take(key, 1);
      return count;
    };
    expect(taken("a")).toBe(600);
    expect(taken("b")).toBe(300);
    expect(taken("c")).toBe(150);
    for (let each = 0; each < 600; each++) shares.give("a", 1);
    expect(shares.total).toBe(450);
    expect(taken("c")).toBeGreaterThan(150);
  });
});

test("hops grow by one, and a circle or an endless chain is seen", () => {
  expect(withHop(undefined, "a/b")).toBe("a/b");
  expect(withHop("x/y", "a/b")).toBe("x/y, a/b");
  expect(withHop("x/y,a/b", "a/b")).toBeNull();
  expect(
    withHop(
      Array.from({ length: 16 }, (_, at) => `n/${at}`),
      "a/b",
    ),
  ).toBeNull();
});

describe("loads", () => {
  test.each([
    ["TEXT cpu_utilization=0.5,rps_fractional=12.5,eps=1,mem_utilization=0.9", 0.5, 12.5, 1],
    ["TEXT cpu_utilization:0.5, application_utilization: 0.7", 0.7, null, null],
    ['JSON {"application_utilization":0,"cpuUtilization":0.25,"namedMetrics":{"x":1}}', 0.25, null, null],
  ])("are read of %s", (text, utilization, requestsPerSecond, errorsPerSecond) =>
    expect(readLoadHeader(text)).toEqual({ utilization, requestsPerSecond, errorsPerSecond }),
  );

  test("that say nothing of use are none", () => {
    expect(readLoadHeader("TEXT rps_fractional=5")).toBeNull();
    expect(readLoadHeader("TEXT application_utilization=0")).toBeNull();
    expect(readLoadHeader("TEXT application_utilization=0,cpu_utilization=0")).toMatchObject({
      utilization: 0,
    });
    expect(readLoadJson('{"cpu_utilization": -0.1}')).toBeNull();
    expect(readLoadJson('{"__proto__": {"cpu_utilization": 0.5}}')).toBeNull();
  });
});

test("requests are sent again where that is safe, and not too often", () => {
  const failed = { method: "POST", retries: 0, isUntouched: true, isClosed: false, hasSentBody: false };
  expect(mayRetry(failed)).toBe(true);
  expect(mayRetry({ ...failed, retries: 2 })).toBe(false);
  expect(mayRetry({ ...failed, isUntouched: false })).toBe(false);
  expect(mayRetry({ ...failed, isUntouched: false, method: "GET" })).toBe(true);
  expect(mayRetry({ ...failed, hasSentBody: true })).toBe(false);
  const ended = { ...failed, isUntouched: false, isClosed: true };
  for (const method of ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])
    expect(mayRetry({ ...ended, method })).toBe(true);
  for (const method of ["POST", "PATCH", "LOCK"]) expect(mayRetry({ ...ended, method })).toBe(false);
  const budget = new RetryBudget();
  for (let each = 0; each < 100; each++) budget.requested();
  expect(Array.from({ length: 12 }, () => budget.take()).filter(Boolean).length).toBe(10);
  for (let each = 0; each < 5; each++) budget.requested();
  expect([budget.take(), budget.take()]).toEqual([true, false]);
});

describe("endpoints of slices", () => {
  type PodEndpoint = PodSlice["endpoints"][number];
  const endpoint = (address: string, fields: Partial<PodEndpoint> = {}): PodEndpoint => ({
    address,
    pod: address,
    uid: address,
    node: null,
    zone: null,
    ready: true,
    serving: true,
    terminating: false,
    ...fields,
  });
  const slice = (family: string, endpoints: readonly PodEndpoint[]) => ({
    family,
    ports: new Map([["http", 8080]]),
    endpoints,
  });
  const addresses = (...slices: ReturnType<typeof slice>[]): string[] =>
    addressesOf(slices, "http").map(({ address }) => address);

  test("are of one family, once each", () => {
    const four = slice("IPv4", [endpoint("10.0.0.1"), endpoint("10.0.0.2", { ready: false })]);
    expect(addresses(slice("IPv6", [endpoint("fd00::1")]), four, four)).toEqual(["10.0.0.1"]);
    expect(addresses(slice("IPv6", [endpoint("fd00::1")]))).toEqual(["fd00::1"]);
    expect(addresses(slice("FQDN", [endpoint("example.com")]))).toEqual([]);
  });

  test("that end serve where none is ready", () => {
    const ending = endpoint("10.0.0.3", { ready: false, terminating: true });
    expect(addresses(slice("IPv4", [ending]))).toEqual(["10.0.0.3"]);
    expect(addresses(slice("IPv4", [ending]), slice("IPv4", [endpoint("10.0.0.4")]))).toEqual(["10.0.0.4"]);
    expect(addresses(slice("IPv4", [{ ...ending, serving: false }]))).toEqual([]);
  });

  test("have the port of that name", () => {
    expect(addressesOf([slice("IPv4", [endpoint("10.0.0.1")])], "grpc")).toEqual([]);
  });
});
