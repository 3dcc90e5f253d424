import { expect, test } from "vitest";
import { MemoryKernel } from "../adapters/memory-kernel.ts";
import { flow } from "../testing/plans.ts";
import { FlowMeter, toFlowBatch } from "./flow-meter.ts";
import type { KernelState } from "./kernel-state.ts";
import type { FlowPlacement } from "./wanted.ts";

const placed = (minor: number): FlowPlacement[] => [
  { flow: flow(1), place: { device: "eth0", minor, ceilBitsPerSecond: 1e6, rule: null }, unmet: null },
];
const counted = (minor: number, sentBytes: number, droppedPackets: number): KernelState => ({
  ...new MemoryKernel({ ways: new Map(), roots: new Map() }).state(),
  counters: new Map([["eth0", new Map([[minor, { sentBytes, droppedPackets, queuedPackets: 0 }]])]]),
});

const at = (ms: number, wallAheadMs = 0): { nowMs: number; monotonicMs: number } => ({
  nowMs: ms + wallAheadMs,
  monotonicMs: ms,
});

test("figures are what came between two readings, also when the class was made anew", () => {
  const meter = new FlowMeter();
  expect(meter.take(placed(1), counted(1, 1_000, 1), at(10_000))).toBeNull();
  expect(meter.take(placed(1), counted(1, 126_000, 4), at(11_000))?.flows).toEqual([
    {
      id: flow(1).id,
      ceilBitsPerSecond: 1e6,
      sentBytes: 125_000,
      droppedPackets: 3,
      achievedBitsPerSecond: 1e6,
    },
  ]);
  expect(meter.take(placed(2), counted(2, 200_000, 0), at(12_000))?.flows[0]?.sentBytes).toBe(200_000);
  expect(meter.take(placed(2), counted(2, 500, 0), at(13_000))?.flows[0]?.sentBytes).toBe(500);
  expect(meter.take([], counted(2, 600, 0), at(14_000))?.flows).toEqual([]);
});

test("a record has a point of each metric for each flow", () => {
  const meter = new FlowMeter();
  meter.take(placed(1), counted(1, 0, 0), at(10_000));
  const batch = toFlowBatch("a", meter.take(placed(1), counted(1, 100, 2), at(20_000))!);
  expect(batch.metrics.map(({ name, points }) => [name, points[0]])).toMatchObject([
    ["isochrone.flow.allowed", { value: 1e6, attributes: { flow: flow(1).id } }],
    ["isochrone.flow.sent", { value: 100, startMs: 10_000, timeMs: 20_000 }],
    ["isochrone.flow.dropped", { value: 2 }],
  ]);
});

const YEAR_MS = 365 * 86_400_000;

test.each([1_000, -1_000, 7_200_000, -7_200_000, 10 * YEAR_MS, -10 * YEAR_MS])(
  "a wall clock that is set by %i ms changes no rate",
  (stepMs) => {
    const meter = new FlowMeter();
    meter.take(placed(1), counted(1, 0, 0), at(10_000));
    const reading = meter.take(placed(1), counted(1, 125_000, 0), at(11_000, stepMs))!;
    expect(reading.flows[0]?.achievedBitsPerSecond).toBe(1e6);
    expect([reading.startMs, reading.timeMs]).toEqual([10_000 + stepMs, 11_000 + stepMs]);
  },
);
