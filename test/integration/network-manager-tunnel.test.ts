// The tunnel to nodes behind routers in a real kernel: its traffic, and its filter.
import type { Reconciler } from "@isochrone/network-manager/testing";
import type { FlowPlan, PlannedFlow } from "@isochrone/topology";
import { afterEach, describe, expect, test } from "vitest";
import { receivedBy, sendDatagrams, tunnelled } from "../harness/flow-mesh/datagrams.ts";
import { managerWith } from "../harness/flow-mesh/manager.ts";
import { ADDRESS, ADDRESS6, createRoutedMesh, type Mesh, type NodeName } from "../harness/flow-mesh/mesh.ts";
import { flowOnTheWay, planOf, RELAYED } from "../harness/flow-mesh/plans.ts";
import { flowMeshSupport } from "../harness/flow-mesh/support.ts";

const RATE = 20e6;
const PORT = 5001;

describe.skipIf(!flowMeshSupport().supported)("the tunnel", () => {
  let mesh: Mesh;
  afterEach(() => mesh.remove());

  const managerOf = (node: NodeName): Reconciler => managerWith("route", mesh.prefix(node));

  function relayed(node: NodeName, addresses: typeof ADDRESS): FlowPlan {
    const flow: PlannedFlow = {
      ...flowOnTheWay(node, RELAYED, PORT, RATE),
      source: { node: "a", address: addresses.a, port: null },
      target: { node: "b", address: addresses.b, port: PORT },
    };
    const neighbours = [flow.previous, flow.next].filter((name) => name !== null);
    const capacities = Object.fromEntries(neighbours.map((name) => [name, 2 * RATE]));
    return planOf(node, [flow], capacities, (name) => addresses[name as NodeName]);
  }

  test("carries packets of IPv6 over a relay", async () => {
    mesh = createRoutedMesh();
    const before = RELAYED.map((node) => mesh.rules(node));
    const managers = RELAYED.map((node) => ({ node, manager: managerOf(node) }));
    for (const { node, manager } of managers.toReversed())
      expect(await manager.run(relayed(node, ADDRESS6))).toMatchObject({
        pending: 0,
        complaints: [],
        flows: [{ unmet: null }],
      });
    const stream = await mesh.stream(PORT, ADDRESS6);
    const relay = managers[1]!.manager;
    const sentBytes = async (): Promise<number> => {
      const { flows, kernel } = await relay.run(relayed("r", ADDRESS6));
      const { device, minor } = flows[0]!.place!;
      return kernel!.counters.get(device)!.get(minor)!.sentBytes;
    };
    await expect.poll(sentBytes).toBeGreaterThan(1e6);
    stream.stop();
    for (const { manager } of managers) await manager.run(null);
    expect(RELAYED.map((node) => mesh.rules(node))).toEqual(before);
  });

  test("isn't there while another program has its port, and is once that is free", async () => {
    mesh = createRoutedMesh();
    const manager = managerOf("a");
    const other = await receivedBy(mesh, "a", ADDRESS.a, 8477);
    const report = await manager.run(relayed("a", ADDRESS));
    expect(report.complaints.join()).toContain("Address already in use");
    expect(report.pending).toBeGreaterThan(0);
    expect(report.flows[0]!.unmet?.reason).toBe("not_in_kernel");
    await other.stop();
    expect(await manager.run(relayed("a", ADDRESS))).toMatchObject({
      pending: 0,
      complaints: [],
      flows: [{ unmet: null }],
    });
  });

  test("lets in what neighbours of the plan send, and nothing of anybody else", async () => {
    mesh = createRoutedMesh();
    const manager = managerOf("b");
    expect(await manager.run(relayed("b", ADDRESS))).toMatchObject({
      pending: 0,
      kernel: { peers: new Set([ADDRESS.r]), refusedPackets: 0 },
    });
    const { texts } = await receivedBy(mesh, "b", ADDRESS.b, PORT);
    const inject = (prefix: readonly string[], text: string, to = ADDRESS.b): void => {
      const packet = tunnelled({ source: ADDRESS.a, target: ADDRESS.b, port: PORT, text });
      sendDatagrams(prefix, to, 8477, [packet]);
    };
    inject(mesh.prefix("s"), "of a node that is no neighbour");
    inject(mesh.prefix("b"), "of the node itself", "127.0.0.1");
    // A pod that forges the neighbour's source address.
    const pod = mesh.pod("b", ADDRESS.r);
    inject(pod, "of a pod in a neighbour's name");
    inject(mesh.prefix("r"), "of the neighbour");
    await expect.poll(() => texts).toEqual(["of the neighbour"]);
    expect((await manager.run(relayed("b", ADDRESS))).kernel!.refusedPackets).toBe(3);

    // Without the filter each of them would pass.
    mesh.inside("b", "nft", "flush", "chain", "inet", "isochrone-flows", "in");
    inject(mesh.prefix("s"), "of a stranger");
    inject(pod, "of the pod");
    await expect.poll(() => texts).toEqual(["of the neighbour", "of a stranger", "of the pod"]);
  });
});
