import { describe, expect, test } from "vitest";
import { linkOf, snapshotOf } from "../../testing/snapshots.ts";
import { bestBursts } from "./node-bandwidth.ts";
import { bandwidthStep, type NodeBandwidth } from "./step.ts";

const node = (more: Partial<NodeBandwidth> = {}): NodeBandwidth => ({
  capacity: null,
  allocatable: null,
  advertised: null,
  advertisedOrigin: null,
  declared: null,
  ...more,
});

const step = (
  mode: "off" | "declared" | "measured",
  more: Partial<NodeBandwidth>,
  measured: number | null = null,
) => bandwidthStep(mode, node(more), measured, 0.1);

const ours = (amount: number) => ({
  capacity: amount,
  allocatable: amount,
  advertised: amount,
  advertisedOrigin: "measured" as const,
});

describe("what to do about a node's bandwidth", () => {
  test("measured wins where it is asked for, in whole Mbit/s; else what is declared, as it is", () => {
    const declared = { declared: 1_500_000 };
    expect(step("measured", declared, 949_999_999)).toEqual({
      kind: "advertise",
      bitsPerSecond: 949_000_000,
      origin: "measured",
    });
    const asDeclared = { kind: "advertise", bitsPerSecond: 1_500_000, origin: "declared" };
    expect(step("measured", declared)).toEqual(asDeclared);
    expect(step("declared", declared, 949_999_999)).toEqual(asDeclared);
    expect(step("declared", {}, 949_999_999)).toEqual({ kind: "unknown" });
  });

  test("nothing while the figure is near what is advertised", () => {
    expect(step("measured", ours(950e6), 1_040e6)).toEqual({ kind: "current" });
    expect(step("measured", ours(950e6), 1_100e6)).toMatchObject({ bitsPerSecond: 1_100e6 });
    expect(step("measured", ours(950e6))).toEqual({ kind: "current" });
    // An expired test does not give way to a declaration, or the figure would change with each test.
    expect(step("measured", { ...ours(950e6), declared: 10e9 })).toEqual({ kind: "current" });
  });

  test("what a kubelet or an operator removed is advertised again", () => {
    expect(step("measured", { ...ours(950e6), capacity: 0 })).toMatchObject({ bitsPerSecond: 950e6 });
    expect(step("measured", { ...ours(950e6), capacity: null })).toMatchObject({ bitsPerSecond: 950e6 });
    expect(step("measured", { ...ours(950e6), allocatable: null })).toMatchObject({ bitsPerSecond: 950e6 });
  });

  test("another one's resource is left alone, and so is what another one made of ours", () => {
    expect(step("measured", { capacity: 10e9 }, 950e6)).toEqual({ kind: "foreign" });
    expect(step("measured", { ...ours(950e6), capacity: 10e9 }, 950e6)).toEqual({ kind: "changed" });
  });

  test("what is no longer declared, or no longer asked for, is taken back", () => {
    expect(step("declared", ours(950e6))).toEqual({ kind: "withdraw" });
    expect(step("off", { ...ours(950e6), declared: 950e6 })).toEqual({ kind: "withdraw" });
    expect(step("off", { capacity: 10e9 })).toEqual({ kind: "current" });
  });
});

test("a node's bandwidth is that of the best burst from or to it", () => {
  const burst = (source: string, target: string, achieved: number | null, best: number | null) =>
    linkOf(source, target, 1, {
      bandwidthBitsPerSecond: { capacity: best, achieved, available: null },
      bandwidthCapacityOrigin: best === null ? null : "measured",
    });
  const graph = snapshotOf(
    ["a", "b", "c"],
    [burst("a", "b", 1e9, 2e9), burst("b", "c", 3e9, null), burst("c", "a", null, null)],
  );
  expect(Object.fromEntries(bestBursts(graph))).toEqual({ a: 2e9, b: 3e9, c: 3e9 });
});
