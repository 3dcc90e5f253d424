// `isochrone up --kubeconfig`: a real API server, controllers and kube-scheduler, nodes that KWOK simulates, an emulated network between them.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { EmbeddedSystem, eventually } from "../harness/embedded.ts";

const support = controlPlaneSupport();
if (!support.supported) console.warn(`up --kubeconfig skipped: ${support.reason}`);

const NODES = 8;
const START_MS = 120_000;
const NAMESPACE = "default";

interface Meta {
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
  readonly spec?: { readonly nodeName?: string };
}

describe.runIf(support.supported)("a cluster with simulated nodes", () => {
  let cluster: ControlPlane;
  let system: EmbeddedSystem;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: ["controller-manager", "scheduler", "kwok"] });
    await cluster.addNodes(NODES, (i) => ({
      region: `region-${i % 2}`,
      zone: `region-${i % 2}-${Math.floor(i / 2) % 2}`,
      cpu: "4",
      memory: "8Gi",
    }));
    system = await EmbeddedSystem.start(
      "--kubeconfig",
      cluster.kubeconfig,
      "--window",
      "10s",
      "--rate",
      "10",
    );
    const config = await system.cli("scheduler-config", "--url", system.urls.extender);
    await cluster.restartScheduler(`${config}\nclientConnection:\n  kubeconfig: "@KUBECONFIG@"\n`);
  }, START_MS);

  afterAll(async () => {
    await system?.stop();
    await cluster?.close();
  }, 60_000);

  test("pods of the workflow run, and kube-scheduler places them anew by the extender's score", async () => {
    const { moves } = (await system.event("replaced", 180_000)) as unknown as {
      moves: readonly { readonly workload: string; readonly to: string }[];
    };
    expect(moves.length).toBeGreaterThan(10);
    const { items: pods } = await cluster.request<{ items: Meta[] }>(
      "GET",
      `/api/v1/namespaces/${NAMESPACE}/pods`,
    );
    const { decisions } = await system.decisions();
    const byPod = new Map(decisions.map((decision) => [decision.pod.name, decision]));
    const parts = pods.flatMap(({ metadata: { name }, spec }) => {
      const nodes = byPod.get(name)?.candidates ?? [];
      const best = Math.max(...nodes.map(({ score }) => score ?? 0));
      const own = nodes.find(({ name: node }) => node === spec?.nodeName)?.score ?? 0;
      return best > 0 ? [own / best] : [];
    });
    expect(parts.length).toBeGreaterThan(10);
    // kube-scheduler's own scores decide between nodes that are about as near.
    expect(parts.reduce((sum, part) => sum + part, 0) / parts.length).toBeGreaterThan(0.85);
  }, 240_000);

  test("nodes carry what was measured", async () => {
    const nodes = await eventually("annotations of all nodes", 60_000, async () => {
      const { items } = await cluster.request<{ items: Meta[] }>("GET", "/api/v1/nodes");
      return (
        items.every(({ metadata }) => countOf(metadata.annotations, "network-cost-") >= NODES - 1) && items
      );
    });
    const truth = JSON.parse(await system.cli("lab", "matrix", "--lab", system.urls.lab, "-o", "json")) as {
      nodes: string[];
      rttMs: (number | null)[][];
    };
    const [first, ...others] = nodes;
    for (const { metadata } of others) {
      const said = Number(first!.metadata.annotations![`isochrone.dev/network-cost-${metadata.name}`]);
      const [i, j] = [first!, { metadata }].map((node) => truth.nodes.indexOf(node.metadata.name));
      const real = truth.rttMs[i!]![j!]!;
      expect(Math.abs(said - real)).toBeLessThan(Math.max(0.25 * real, 4));
    }
  }, 90_000);

  test("its end leaves the nodes and takes the workflow along", async () => {
    expect(await system.stop()).toBe(0);
    const { items } = await cluster.request<{ items: Meta[] }>(
      "GET",
      `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`,
    );
    expect(items).toEqual([]);
    const { items: nodes } = await cluster.request<{ items: Meta[] }>("GET", "/api/v1/nodes");
    expect(nodes.length).toBe(NODES);
  }, 60_000);

  test("a node that is no simulated one is refused by name", async () => {
    await cluster.request("POST", "/api/v1/nodes", {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "real-1" },
    });
    await expect(EmbeddedSystem.start("--kubeconfig", cluster.kubeconfig)).rejects.toThrow(
      /every node must be simulated .*node real-1 is not/,
    );
  }, 60_000);
});

function countOf(annotations: Record<string, string> | undefined, part: string): number {
  return Object.keys(annotations ?? {}).filter((name) => name.includes(part)).length;
}
