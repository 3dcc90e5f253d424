// More nodes than a full response lists: short responses rank nodes like full ones.
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import { describe, expect, onTestFinished, test } from "vitest";
import { controlPlaneSupport } from "../harness/control-plane/index.ts";
import { clusterGraph, schedulerConfig, workflowGraph } from "../harness/extender.ts";
import type { Replica } from "../harness/extender.ts";
import { extenderTestbed } from "../harness/extender-testbed.ts";

/** kube-scheduler checks all nodes of clusters below 100. */
const NODES = Array.from({ length: 90 }, (_, index) => `n${index}`);
const HOME = "n42";
const support = controlPlaneSupport(["scheduler"]);
if (!support.supported)
  console.warn(`network-overhead on a real kube-scheduler is not tested: ${support.reason}`);

/** Nodes n, n+3, n+6, ... share a zone. n42 is 1 ms from its zone and 40 ms from all others. */
function cluster(): ClusterGraphSnapshot {
  const zoneOf = (name: string): number => Number(name.slice(1)) % 3;
  const snapshot = clusterGraph(
    NODES.map((name) => ({ name })),
    (a, b) => (a !== HOME && b !== HOME ? null : zoneOf(a) === zoneOf(b) ? 1 : 40),
  );
  return {
    ...snapshot,
    nodes: snapshot.nodes.map((node) => ({
      ...node,
      region: `r${zoneOf(node.name)}`,
      zone: `z${zoneOf(node.name)}`,
    })),
    links: snapshot.links.filter(({ costMs }) => costMs !== null),
  };
}

/** p depends on q, which is on n42, with a limit of 15. */
function workflow(): WorkflowGraphSnapshot {
  const plain = workflowGraph({ p: [], q: [HOME] }, [["p", "q", 100_000]]);
  return { ...plain, channels: plain.channels.map((channel) => ({ ...channel, maxNetworkCost: 15 })) };
}

describe.runIf(support.supported)("network-overhead on a real kube-scheduler", () => {
  const testbed = extenderTestbed(async () => {
    await testbed.cluster.addNodes(NODES.length, (index) => ({ name: NODES[index]! }));
    testbed.graphs.say({ cluster: cluster(), workflow: workflow() });
  });
  const { nodesOf } = testbed;

  const replica = async (mode: string, options: readonly string[] = []): Promise<Replica> => {
    const settings = { strategy: "network-overhead", mode };
    const started = await testbed.replica(settings);
    await testbed.cluster.restartScheduler(
      await schedulerConfig(started.url, testbed.certificates, { options }),
    );
    return started;
  };

  const labels = { app: "p", "isochrone.dev/workflow": "flow" };

  test("answers that leave out the lowest level put pods where full ones would; [] leaves the choice to kube-scheduler", async () => {
    const extender = await replica("strict");
    const asked = (pod: object): object => ({ Pod: pod, NodeNames: NODES });
    const { json } = await extender.post(
      "prioritize",
      asked({ metadata: { name: "asked", namespace: "default", labels } }),
    );
    const listed = (json as { Host: string; Score: number }[]).toSorted((a, b) => b.Score - a.Score);
    // Only its own zone; the other sixty nodes have the lowest score.
    expect(listed).toHaveLength(30);
    expect(listed[0]).toMatchObject({ Host: HOME });
    await testbed.cluster.createPods(["near-1", "near-2"], { labels });
    expect(await nodesOf(["near-1", "near-2"])).toEqual([HOME, HOME]);
    expect((await extender.post("prioritize", asked({ metadata: { name: "other" } }))).json).toEqual([]);
    await testbed.cluster.createPods(["other-1", "other-2"]);
    expect(await nodesOf(["other-1", "other-2"])).toHaveLength(2);
  });

  test("in upstream mode the filter rejects as the plugin does, in its words", async () => {
    await replica("upstream", ["--filter"]);
    await testbed.cluster.createPods(["upstream"], { labels });
    expect(Number((await nodesOf(["upstream"]))[0]!.slice(1)) % 3).toBe(0);
    await testbed.cluster.createPods(["beyond"], {
      labels,
      spec: { nodeSelector: { "kubernetes.io/hostname": "n1" } },
    });
    const message = await testbed.cluster.waitFor("pods", (all) => {
      const conditions = all.find(({ metadata }) => metadata.name === "beyond")?.status?.["conditions"];
      return (conditions as { reason?: string; message?: string }[] | undefined)?.find(
        ({ reason }) => reason === "Unschedulable",
      )?.message;
    });
    expect(message).toContain(
      "Node n1 does not meet several network requirements from Workload dependencies: Satisfied: 0 Violated: 1",
    );
  });

  test("in upstream mode declared weights count, and not what is measured", async () => {
    const needsNeighbour = { labels, spec: { nodeSelector: { "kubernetes.io/hostname": "n1" } } };
    const extender = await replica("upstream", ["--filter"]);
    const regions = [
      { from: "r1", to: "r0", cost: 5 },
      { from: "r2", to: "r0", cost: 30 },
    ];
    const source = "NetworkTopology default/nt-default, UserDefined";
    testbed.graphs.say({
      cluster: { ...cluster(), version: 2, declaredCosts: { source, unitMs: 1, zones: [], regions } },
      workflow: workflow(),
    });
    onTestFinished(() => testbed.graphs.say({ cluster: { ...cluster(), version: 3 }, workflow: workflow() }));
    // The measured 40 ms exceed the limit of 15. A rejected pod would wait minutes for a retry.
    const pod = { metadata: { name: "asked", namespace: "default", labels } };
    const accepted = async (): Promise<unknown> =>
      ((await extender.post("filter", { Pod: pod, NodeNames: ["n1"] })).json as { NodeNames?: string[] })
        .NodeNames;
    await expect.poll(accepted, { timeout: 20_000, interval: 100 }).toEqual(["n1"]);
    await testbed.cluster.createPods(["declared"], needsNeighbour);
    expect(await nodesOf(["declared"])).toEqual(["n1"]);
  });
});
