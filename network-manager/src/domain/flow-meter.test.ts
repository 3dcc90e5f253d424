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

test("figures are what came between two readings, also when the class was made anew", () => {
  const meter = new FlowMeter();
  expect(meter.take(placed(1), counted(1, 1_000, 1), 10_000)).toBeNull();
  expect(meter.take(placed(1), counted(1, 126_000, 4), 11_000)?.flows).toEqual([
    {
      id: flow(1).id,
      ceilBitsPerSecond: 1e6,
      sentBytes: 125_000,
      droppedPackets: 3,
      achievedBitsPerSecond: 1e6,
    },
  ]);
  expect(meter.take(placed(2), counted(2, 200_000, 0), 12_000)?.flows[0]?.sentBytes).toBe(200_000);
  expect(meter.take(placed(2), counted(2, 500, 0), 13_000)?.flows[0]?.sentBytes).toBe(500);
  expect(meter.take([], counted(2, 600, 0), 14_000)?.flows).toEqual([]);
});

test("a record has a point of each metric for each flow", () => {
  const meter = new FlowMeter();
  meter.take(placed(1), counted(1, 0, 0), 10_000);
  const batch = toFlowBatch("a", meter.take(placed(1), counted(1, 100, 2), 20_000)!);
  expect(batch.metrics.map(({ name, points }) => [name, points[0]])).toMatchObject([
    ["isochrone.flow.allowed", { value: 1e6, attributes: { flow: flow(1).id } }],
    ["isochrone.flow.sent", { value: 100, startMs: 10_000, timeMs: 20_000 }],
    ["isochrone.flow.dropped", { value: 2 }],
  ]);
});
