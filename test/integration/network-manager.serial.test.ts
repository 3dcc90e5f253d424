// The network manager in a real kernel: rates come from received data and the receiver's clock.
import type { Reconciler } from "@isochrone/network-manager/testing";
import { afterEach, describe, expect, test } from "vitest";
import { managerWith } from "../harness/flow-mesh/manager.ts";
import type { PlannedFlow } from "@isochrone/topology";
import {
  ADDRESS,
  createMesh,
  createRoutedMesh,
  type Mesh,
  type NodeName,
} from "../harness/flow-mesh/mesh.ts";
import { flowOnTheWay, planOf } from "../harness/flow-mesh/plans.ts";
import { flowMeshSupport } from "../harness/flow-mesh/support.ts";

/** Ratio of frame to payload of a full TCP segment with timestamps. */
const WIRE = 1514 / 1448;
/** The same ratio inside the tunnel. */
const TUNNELLED = 1514 / 1412;
const MBIT = 1e6;
const WINDOW_MS = 3_000;

let mesh: Mesh;
afterEach(() => mesh?.remove());

const managerOf = (node: NodeName, mode: Parameters<typeof managerWith>[0]): Reconciler =>
  managerWith(mode, mesh.prefix(node));

function near(bitsPerSecond: number, wire = WIRE): { readonly least: number; readonly most: number } {
  return { least: (bitsPerSecond / wire) * 0.95, most: (bitsPerSecond / wire) * 1.03 };
}

function expectNear(measured: number, bitsPerSecond: number, wire = WIRE): void {
  const { least, most } = near(bitsPerSecond, wire);
  expect(measured).toBeGreaterThan(least);
  expect(measured).toBeLessThan(most);
}

/** Time for queues to fill and for TCP to find its rate. */
const settle = (ms = 1_500): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** The same after a change of path, because packets in the old queue are retransmitted. */
const MOVED_MS = 3_000;

describe.skipIf(!flowMeshSupport().supported)("flows on the wire", { retry: 2 }, () => {
  test("shape: each flow gets its rate, also after a change under the running connection", async () => {
    mesh = createMesh();
    const manager = managerOf("a", "shape");
    const plan = (first: number): Parameters<Reconciler["run"]>[0] =>
      planOf(
        "a",
        [flowOnTheWay("a", ["a", "b"], 5001, first), flowOnTheWay("a", ["a", "b"], 5002, 3 * MBIT)],
        { b: 20 * MBIT },
      );
    await manager.run(plan(6 * MBIT));
    const streams = [await mesh.stream(5001), await mesh.stream(5002)];
    await settle();
    const [six = 0, three = 0] = await Promise.all(streams.map((stream) => stream.rate(WINDOW_MS)));
    expectNear(six, 6 * MBIT);
    expectNear(three, 3 * MBIT);

    const report = await manager.run(plan(2 * MBIT));
    expect(report).toMatchObject({ pending: 0, complaints: [] });
    await settle();
    expectNear(await streams[0]!.rate(WINDOW_MS), 2 * MBIT);
  });

  test("guarantee: a floor is kept against traffic without a plan, and what is free is used", async () => {
    mesh = createMesh();
    const manager = managerOf("a", "guarantee");
    const report = await manager.run(
      planOf("a", [flowOnTheWay("a", ["a", "b"], 5001, 8 * MBIT)], { b: 10 * MBIT }),
    );
    expect(report).toMatchObject({ mode: "guarantee", pending: 0 });
    const planned = await mesh.stream(5001);
    await settle();
    // A single flow may use the whole link.
    expectNear(await planned.rate(WINDOW_MS), 10 * MBIT);
    const greedy = [await mesh.stream(6001), await mesh.stream(6002), await mesh.stream(6003)];
    await settle();
    const [kept = 0, ...others] = await Promise.all([planned, ...greedy].map((each) => each.rate(WINDOW_MS)));
    expect(kept).toBeGreaterThan(near(8 * MBIT).least);
    const rest = others.reduce((sum, each) => sum + each, 0);
    expect(rest).toBeGreaterThan(near(1 * MBIT).least);
    expect(kept + rest).toBeLessThan(near(10 * MBIT).most);
  });

  test("shape: caps of more than the link share it, and traffic without a plan keeps its part", async () => {
    mesh = createMesh();
    const flows = [
      flowOnTheWay("a", ["a", "b"], 5001, 9 * MBIT),
      flowOnTheWay("a", ["a", "b"], 5002, 5 * MBIT),
    ];
    const report = await managerOf("a", "shape").run(planOf("a", flows, { b: 10 * MBIT }));
    expect(report.flows.map(({ unmet }) => unmet?.reason)).toEqual([
      "capacity_exceeded",
      "capacity_exceeded",
    ]);
    const streams = [await mesh.stream(5001), await mesh.stream(5002), await mesh.stream(6001)];
    await settle();
    const [nine = 0, five = 0, other = 0] = await Promise.all(streams.map((each) => each.rate(WINDOW_MS)));
    expect(nine + five + other).toBeLessThan(near(10 * MBIT).most);
    expect(other).toBeGreaterThan(near(1 * MBIT).least);
    expect(five).toBeGreaterThan(near(3 * MBIT).least);
    expect(nine).toBeGreaterThan(five);
  });

  test("shape: a floor beyond the link takes nothing from others but its share", async () => {
    mesh = createMesh();
    const tenant = {
      ...flowOnTheWay("a", ["a", "b"], 5001, 1e15),
      owner: { kind: "AppGroup", namespace: "tenant", name: "mine" } as const,
    };
    const flows = [tenant, flowOnTheWay("a", ["a", "b"], 5002, 4 * MBIT)];
    await managerOf("a", "shape").run(planOf("a", flows, { b: 10 * MBIT }));
    const streams = [await mesh.stream(5001), await mesh.stream(5002), await mesh.stream(6001)];
    await settle();
    const [greedy = 0, job = 0, other = 0] = await Promise.all(streams.map((each) => each.rate(WINDOW_MS)));
    expect(greedy + job + other).toBeLessThan(near(10 * MBIT).most);
    expect(job).toBeGreaterThan(near(4 * MBIT).least);
    expect(other).toBeGreaterThan(near(1 * MBIT).least);
  });

  test("route: a running connection moves to the relay and keeps its rate over two hops", async () => {
    mesh = createMesh();
    const managers = { a: managerOf("a", "route"), r: managerOf("r", "route") };
    const direct = ["a", "b"] as const;
    const relayed = ["a", "r", "b"] as const;
    const capacities = { b: 10 * MBIT, r: 10 * MBIT };
    await managers.a.run(planOf("a", [flowOnTheWay("a", direct, 5001, 4 * MBIT)], capacities));
    const stream = await mesh.stream(5001);
    await settle();
    expectNear(await stream.rate(WINDOW_MS), 4 * MBIT);

    await managers.r.run(
      planOf("r", [flowOnTheWay("r", relayed, 5001, 5 * MBIT)], { a: null, b: 10 * MBIT }),
    );
    const report = await managers.a.run(
      planOf("a", [flowOnTheWay("a", relayed, 5001, 5 * MBIT)], capacities),
    );
    expect(report).toMatchObject({ mode: "route", pending: 0, complaints: [] });
    await settle();
    expectNear(await stream.rate(WINDOW_MS), 5 * MBIT);
    expect(stream.longestGapMs()).toBeLessThan(3_000);
    const relay = await managers.r.run(
      planOf("r", [flowOnTheWay("r", relayed, 5001, 5 * MBIT)], { b: 10 * MBIT }),
    );
    const [place] = relay.flows.map((flow) => flow.place);
    expect(relay.kernel!.counters.get("rb")!.get(place!.minor)!.sentBytes).toBeGreaterThan(1e6);
  });

  test("route: behind routers, a running connection moves to one relay, then to two, by a tunnel that goes again", async () => {
    mesh = createRoutedMesh();
    const nodes = ["a", "r", "s", "b"] as const;
    const before = nodes.map((node) => mesh.rules(node));
    const managers = new Map(nodes.map((node) => [node, managerOf(node, "route")]));
    /** Configures nodes on the path, starting with the nearest to the target. */
    const take = async (
      way: readonly (typeof nodes)[number][],
      rate: number,
    ): ReturnType<Reconciler["run"]> => {
      const flow = (node: NodeName): PlannedFlow => flowOnTheWay(node, way, 5001, rate);
      const capacities = (node: NodeName): Parameters<typeof planOf>[2] =>
        Object.fromEntries(
          [-1, 1].flatMap((by) => way[way.indexOf(node as "a") + by] ?? []).map((name) => [name, 10 * MBIT]),
        );
      let report: Awaited<ReturnType<Reconciler["run"]>>;
      for (const node of way.toReversed()) {
        const plan = planOf(node, [flow(node)], capacities(node), (name) => ADDRESS[name as NodeName]);
        report = await managers.get(node)!.run(plan);
        expect(report).toMatchObject({ mode: "route", pending: 0, complaints: [] });
        expect(report.flows.map(({ unmet }) => unmet)).toEqual([null]);
      }
      return report!;
    };
    await take(["a", "b"], 3 * MBIT);
    const stream = await mesh.stream(5001);
    await settle();
    expectNear(await stream.rate(WINDOW_MS), 3 * MBIT);

    const { kernel } = await take(["a", "r", "b"], 4 * MBIT);
    expect(kernel!.tunnel).toEqual({ mtu: 1464 });
    await settle(MOVED_MS);
    expectNear(await stream.rate(WINDOW_MS), 4 * MBIT, TUNNELLED);

    await take(["a", "r", "s", "b"], 5 * MBIT);
    await settle(MOVED_MS);
    expectNear(await stream.rate(WINDOW_MS), 5 * MBIT, TUNNELLED);
    expect(stream.longestGapMs()).toBeLessThan(3_000);
    const classes = (await managers.get("s")!.run("wait")).kernel!.counters.get("uplink")!.values();
    expect(Math.max(...[...classes].map(({ sentBytes }) => sentBytes))).toBeGreaterThan(1e6);
    stream.stop();

    for (const node of nodes) await managers.get(node)!.run(null);
    expect(nodes.map((node) => mesh.rules(node))).toEqual(before);
  });

  test("senders with BBR keep their rate", async () => {
    mesh = createMesh("bbr");
    const flows = [5001, 5002].map((port) => flowOnTheWay("a", ["a", "b"], port, 5 * MBIT));
    await managerOf("a", "shape").run(planOf("a", flows, { b: 10 * MBIT }));
    const streams = [await mesh.stream(5001), await mesh.stream(5002)];
    await settle();
    for (const rate of await Promise.all(streams.map((stream) => stream.rate(2 * WINDOW_MS)))) {
      expect(rate).toBeGreaterThan(near(5 * MBIT).least * 0.9);
      expect(rate).toBeLessThan(near(5 * MBIT).most);
    }
  });
});
