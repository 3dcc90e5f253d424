import { seeded } from "@isochrone/primitives";
import { describe, expect, test } from "vitest";
import { byDeadline, byLeastRequest, EndpointLoad, WorkTime, type Candidate } from "./index.ts";

const WORK = 10;

function candidate(fields: Partial<Omit<Candidate, "load">> = {}): Candidate {
  return { load: new EndpointLoad(), roundTripMs: 0.5, isFar: false, ...fields };
}

function seen(load: EndpointLoad, timeMs: number, others = 0): void {
  for (let each = 0; each < 60; each++) load.answered(timeMs, others, 0);
}

function shares(candidates: readonly Candidate[], choose: typeof byDeadline, nowMs = 0): number[] {
  const draw = seeded(1);
  const counts = candidates.map(() => 0);
  for (let each = 0; each < 1000; each++) {
    const { endpoint } = choose(candidates, { leftMs: 100, workMs: WORK, nowMs }, draw)!;
    counts[candidates.indexOf(endpoint)]!++;
  }
  return counts.map((count) => count / 1000);
}

describe("by deadline", () => {
  test("requests stay in the zone until its endpoints are busy, and then leave it", () => {
    const near = candidate();
    const far = candidate({ roundTripMs: 15, isFar: true });
    const ask = { leftMs: 50, workMs: WORK, nowMs: 0 };
    const draw = seeded(1);
    const chosen = Array.from({ length: 12 }, () => {
      const { endpoint } = byDeadline([near, far], ask, draw)!;
      endpoint.load.sent();
      return endpoint === near ? "near" : "far";
    });
    expect(chosen.slice(0, 2)).toEqual(["near", "near"]);
    expect(chosen.filter((zone) => zone === "far").length).toBeGreaterThanOrEqual(3);
  });

  test("a far endpoint that can't be in time gets nothing, however busy the near one is", () => {
    const near = candidate();
    for (let each = 0; each < 4; each++) near.load.sent();
    const far = candidate({ roundTripMs: 400, isFar: true });
    expect(shares([near, far], byDeadline)).toEqual([1, 0]);
  });

  test("requests that are late anyway don't all follow the best guess, but none goes too far away", () => {
    const busy = [35, 40, 45].map((times) => {
      const one = candidate();
      seen(one.load, times * WORK);
      return one;
    });
    const gone = candidate({ roundTripMs: 60_000, isFar: true });
    const found = shares([...busy, gone], byDeadline);
    for (const share of found.slice(0, 3)) expect(share).toBeGreaterThan(0.2);
    expect(found[3]).toBe(0);
  });

  test("equal endpoints share evenly", () => {
    const even = shares([candidate(), candidate(), candidate(), candidate()], byDeadline);
    for (const share of even) expect(share).toBeCloseTo(0.25, 1);
  });

  test("nobody gets a request where there is no endpoint", () => {
    const ask = { leftMs: 1, workMs: WORK, nowMs: 0 };
    expect(byDeadline([], ask, seeded(1))).toBeNull();
    expect(byLeastRequest([], ask, seeded(1))).toBeNull();
  });

  test("without a deadline the shortest wait and way win", () => {
    const slow = candidate();
    seen(slow.load, 80);
    const quick = candidate({ roundTripMs: 2 });
    const ask = { leftMs: null, workMs: WORK, nowMs: 0 };
    expect(byDeadline([slow, quick], ask, seeded(1))!.endpoint).toBe(quick);
  });
});

describe.each([
  ["deadline", byDeadline],
  ["least-request", byLeastRequest],
] as const)("an endpoint that fails at once, by %s", (_name, choose) => {
  test("gets less than its share, though it looks idle, and is tried again later", () => {
    const failing = candidate();
    const others = [candidate(), candidate(), candidate()];
    for (const { load } of others) {
      load.answered(WORK, 0, 0);
      load.sent();
    }
    for (let each = 0; each < 20; each++) failing.load.failed(0);
    expect(shares([failing, ...others], choose)[0]).toBeLessThan(0.25);
    for (const { load } of others) load.ended();
    expect(failing.load.failureShare(60_000)).toBe(0);
    expect(shares([failing, ...others], choose, 60_000)[0]).toBeGreaterThan(0.1);
  });
});

test("endpoints that fail at once get nothing of what busy ones can't serve in time", () => {
  const failing = candidate();
  for (let each = 0; each < 200; each++) failing.load.failed(0);
  const busy = candidate();
  seen(busy.load, 300 * WORK);
  expect(shares([failing, busy], byDeadline)).toEqual([0, 1]);
});

describe("the load of an endpoint", () => {
  test("is what answers show beyond the work, and forgotten when nobody looks", () => {
    const load = new EndpointLoad();
    seen(load, 40);
    expect(load.waitMs(WORK, 0)).toBeCloseTo(30);
    expect(load.waitMs(WORK, 3_000)).toBeCloseTo(15);
    expect(load.waitMs(WORK, 600_000)).toBeCloseTo(0);
  });

  test("counts own requests in times of those that it has served at once", () => {
    const load = new EndpointLoad();
    seen(load, WORK, 9);
    for (let each = 0; each < 5; each++) load.sent();
    expect(load.waitMs(WORK, 0)).toBe(0);
    for (let each = 0; each < 14; each++) load.sent();
    expect(load.waitMs(WORK, 0)).toBeCloseTo(WORK);
  });

  test("isn't that of one slow answer", () => {
    const load = new EndpointLoad();
    load.answered(4 * WORK, 0, 0);
    expect(load.waitMs(WORK, 0)).toBe(0);
  });

  test("follows reports, and what was sent since", () => {
    const load = new EndpointLoad();
    load.reported({ utilization: 0.5, requestsPerSecond: 50, errorsPerSecond: null }, 0);
    const reported = load.waitMs(WORK, 0);
    expect(reported).toBeCloseTo(WORK, 5);
    load.sent();
    expect(load.waitMs(WORK, 0)).toBeGreaterThan(reported);
    load.ended();
    expect(load.waitMs(WORK, 6_000)).toBe(0);
  });

  test("is what is seen where an endpoint says that it is idle", () => {
    const load = new EndpointLoad();
    seen(load, 100);
    load.reported({ utilization: 0, requestsPerSecond: 1000, errorsPerSecond: 0 }, 0);
    expect(load.waitMs(WORK, 0)).toBeCloseTo(90);
  });

  test("has failures of its own counting", () => {
    const load = new EndpointLoad();
    load.reported({ utilization: 0.1, requestsPerSecond: 100, errorsPerSecond: 50 }, 0);
    expect(load.failureShare(0)).toBe(0.5);
  });
});

describe("the time of work", () => {
  test("is that of the quicker answers", () => {
    const work = new WorkTime();
    expect(work.ms).toBeNull();
    const draw = seeded(3);
    for (let each = 0; each < 3000; each++) work.answered(10 + 30 * draw(), 0);
    expect(work.ms!).toBeGreaterThan(16);
    expect(work.ms!).toBeLessThan(28);
  });

  test("doesn't grow when all endpoints have queues", () => {
    const work = new WorkTime();
    const draw = seeded(3);
    for (let each = 0; each < 300; each++) work.answered(8 + 4 * draw(), 0);
    for (let each = 0; each < 3000; each++) {
      const others = Math.floor(10 * draw());
      work.answered((others + 1) * (8 + 4 * draw()), others);
    }
    expect(work.ms!).toBeLessThan(20);
    expect(work.ms!).toBeGreaterThan(5);
  });
});
