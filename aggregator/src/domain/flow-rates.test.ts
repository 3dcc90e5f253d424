import { expect, test } from "vitest";
import { FlowRates } from "./flow-rates.ts";

const FLOW = "site/gate/decode->detect";
const point = (startMs: number, timeMs: number, nowMs = timeMs) => ({
  startMs,
  timeMs,
  eventMs: timeMs,
  offsetMs: 0,
  clockGeneration: 0,
  nowMs,
});

const build = (): FlowRates => new FlowRates({ maxEntries: 2, maxAgeMs: 60_000 });

test("a flow's rate is that of the last ten seconds", () => {
  const rates = build();
  expect(rates.sent("a", FLOW, 0)).toBeNull();
  const flow = rates.open("a", FLOW)!;
  expect(rates.sent("a", FLOW, 0)).toBeNull();
  flow.take(point(1_000, 3_000), 500_000);
  expect(rates.sent("a", FLOW, 3_000)).toBe(2e6);
  flow.take(point(3_000, 5_000), 0);
  expect(rates.sent("a", FLOW, 5_000)).toBe(1e6);
  flow.take(point(5_000, 15_000), 2_500_000);
  expect(rates.sent("a", FLOW, 15_000)).toBe(2e6);
  expect(rates.sent("b", FLOW, 15_000)).toBeNull();
});

test("an old rate says nothing, and what nobody tells of is forgotten", () => {
  const rates = build();
  const flow = rates.open("a", FLOW)!;
  flow.take(point(1_000, 2_000), 1_000);
  expect(rates.sent("a", FLOW, 62_000)).toBe(8_000);
  expect(rates.sent("a", FLOW, 62_001)).toBeNull();
  rates.expire(62_001);
  expect([rates.size, flow.live]).toEqual([0, false]);
});

test.each([
  ["ends before it begins", point(2_000, 1_000), 10],
  ["begins nowhere", point(0, 1_000), 10],
  ["is negative", point(1_000, 2_000), -1],
  ["is no number", point(1_000, 2_000), Number.NaN],
])("a reading that %s changes nothing", (_, time, bytes) => {
  const rates = build();
  const flow = rates.open("a", FLOW)!;
  flow.take(point(500, 900), 100);
  flow.take(time, bytes);
  expect(rates.sent("a", FLOW, 2_000)).toBe(2_000);
});

test("a repeated or older reading counts once", () => {
  const rates = build();
  const flow = rates.open("a", FLOW)!;
  flow.take(point(1_000, 2_000), 1_000);
  flow.take(point(1_000, 2_000), 1_000);
  flow.take(point(500, 1_500), 1_000);
  expect(rates.sent("a", FLOW, 2_000)).toBe(8_000);
});

test("there are no more entries than there may be, and none of them takes another one's room", () => {
  const rates = build();
  expect(rates.open("a", "1")).not.toBeNull();
  expect(rates.open("a", "2", { left: 0 })).toBeNull();
  const room = { left: 1 };
  expect(rates.open("a", "2", room)).not.toBeNull();
  expect(room.left).toBe(0);
  expect(rates.open("a", "3")).toBeNull();
  expect(rates.open("a", "1", { left: 0 })).not.toBeNull();
});
