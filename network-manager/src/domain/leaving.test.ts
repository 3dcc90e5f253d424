import { expect, test } from "vitest";
import { MemoryKernel } from "../adapters/memory-kernel.ts";
import { flow, plan } from "../testing/plans.ts";
import { difference } from "./difference.ts";
import type { KernelState, OwnState, Way } from "./kernel-state.ts";
import { Leaving } from "./leaving.ts";
import { wantedState } from "./wanted.ts";

const NEIGHBOURS = ["b", "c"].map((node) => ({
  node,
  address: node === "b" ? "10.1.0.2" : "10.2.0.2",
  capacityBitsPerSecond: 1e7,
}));

function setUp(gateway: string | null = null) {
  const queued = { packets: 3 };
  const ways = new Map(
    NEIGHBOURS.map(({ node, address }): [string, Way] => [
      address,
      { device: `eth-${node}`, gateway, isLocal: false },
    ]),
  );
  const kernel: MemoryKernel = new MemoryKernel({
    ways,
    roots: new Map(),
    counters: () => countersOf(kernel.own, queued.packets),
  });
  const leaving = new Leaving();
  const turn = async (flows: Parameters<typeof plan>[0] | null, nowMs: number): Promise<OwnState> => {
    const state = kernel.state();
    const wanted =
      flows === null ? null : wantedState(plan({ neighbours: NEIGHBOURS, ...flows }), "route", state).state;
    const target = leaving.with(wanted, state, nowMs);
    expect(await kernel.apply(difference(state, target))).toEqual([]);
    return kernel.own;
  };
  return { turn, queued, leaving };
}

function countersOf({ devices }: OwnState, queuedPackets: number): KernelState["counters"] {
  const count = { sentBytes: 0, droppedPackets: 0, queuedPackets };
  return new Map(
    [...devices].map(([name, classes]) => [
      name,
      new Map([...classes.keys()].map((minor) => [minor, count])),
    ]),
  );
}

const BY_B = { flows: [flow(1, { next: "b" })] };
const BY_C = { flows: [flow(1, { next: "c" })] };
const COMES = {
  flows: [
    flow(1, {
      routed: true,
      source: { node: "x", address: "10.0.0.5", port: 9 },
      target: { node: "a", address: "10.0.0.1", port: 1 },
      next: null,
      previous: "b",
    }),
  ],
};

test("what waits for the old path is sent before its queue goes", async () => {
  const { turn, queued, leaving } = setUp();
  await turn(BY_B, 0);
  const moved = await turn(BY_C, 1_000);
  expect([...moved.devices.keys()].toSorted()).toEqual(["eth-b", "eth-c"]);
  expect(moved.devices.get("eth-b")!.size).toBeGreaterThan(1);
  expect([...moved.marks.values()].map(({ minor }) => moved.devices.get("eth-c")!.has(minor))).toEqual([
    true,
  ]);
  expect(leaving.isAny).toBe(true);
  queued.packets = 0;
  expect([...(await turn(BY_C, 2_000)).devices.keys()]).toEqual(["eth-c"]);
  expect(leaving.isAny).toBe(false);
});

test("a queue that doesn't empty goes after five seconds, and at once where nothing may stay", async () => {
  const { turn, leaving } = setUp();
  await turn(BY_B, 0);
  await turn(BY_C, 1_000);
  expect((await turn(BY_C, 5_900)).devices.has("eth-b")).toBe(true);
  expect((await turn(BY_C, 6_000)).devices.has("eth-b")).toBe(false);
  expect((await turn(null, 6_100)).devices.size).toBe(0);
  expect(leaving.isAny).toBe(false);
});

test("the tunnel lets in what a neighbour sends that doesn't know yet, and goes then", async () => {
  const { turn } = setUp("10.9.0.1");
  expect(await turn(COMES, 0)).toMatchObject({ tunnel: { mtu: 1464 }, peers: new Set(["10.1.0.2"]) });
  expect(await turn({ flows: [] }, 1_000)).toMatchObject({
    tunnel: { mtu: 1464 },
    peers: new Set(["10.1.0.2"]),
  });
  expect(await turn({ flows: [] }, 6_000)).toMatchObject({ tunnel: null, peers: new Set() });
});
