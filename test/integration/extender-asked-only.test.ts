// Ways to exclude pods without the extender, and the extender behind a real aggregator.
import { describe, expect, onTestFinished, test } from "vitest";
import { controlPlaneSupport, nodeNameOf } from "../harness/control-plane/index.ts";
import { MeasuredAggregator } from "../harness/measured-aggregator.ts";
import { BASE_CONFIG, clusterGraph, schedulerConfig, workflowGraph } from "../harness/extender.ts";
import type { Replica } from "../harness/extender.ts";
import { extenderTestbed } from "../harness/extender-testbed.ts";

const NODES = ["n0", "n1", "n2", "n3"];
const RESOURCE = "isochrone.dev/placement";
const CANARIES = "isochrone-canary";
const GUARD = { managedResource: RESOURCE, canaryPeriodMs: 500, canaryDeadlineMs: 3_000, canaryRequired: 2 };
/** A resource of the cluster itself that kube-scheduler must still ignore. */
const LICENCE = "example.com/licence";
const WITH_LICENCE = `${BASE_CONFIG}profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: NodeResourcesFit
        args: {ignoredResources: [${LICENCE}]}
`;

const support = controlPlaneSupport(["scheduler"]);
if (!support.supported) console.warn(`the extender that is asked only is not tested: ${support.reason}`);

describe.runIf(support.supported)(
  "an extender that is asked about its own pods only",
  { timeout: 60_000 },
  () => {
    const testbed = extenderTestbed(async ({ cluster, graphs }) => {
      await cluster.addNodes(NODES.length, (index) => ({ name: NODES[index]! }));
      await cluster.createNamespace(CANARIES);
      graphs.say({
        cluster: clusterGraph(
          NODES.map((name) => ({ name })),
          (a, b) => (a === "n2" || b === "n2" ? 5 : 50),
        ),
        workflow: workflowGraph({ p: [], q: ["n2"] }, [["p", "q", 1_000]]),
      });
    });
    const { replica, nodesOf } = testbed;

    const pods = (
      names: readonly string[],
      extended: readonly string[],
      schedulerName?: string,
    ): Promise<unknown> => {
      const amounts = Object.fromEntries(extended.map((name) => [name, "1"]));
      return testbed.cluster.createPods(names, {
        labels: { app: "p", "isochrone.dev/workflow": "flow" },
        requests: { cpu: "100m", ...amounts },
        limits: amounts,
        ...(schedulerName === undefined ? {} : { schedulerName }),
      });
    };

    const injectable = async (extender: Replica): Promise<Record<string, unknown>> =>
      (await extender.get("/api/v1/managed-resource")).json as Record<string, unknown>;

    test("by a managed resource: 0 calls for other pods, and other ignored resources stay ignored", async () => {
      const extender = await replica();
      const config = await schedulerConfig(extender.url, testbed.certificates, {
        base: WITH_LICENCE,
        options: ["--managed-resource", RESOURCE],
      });
      await testbed.cluster.restartScheduler(config);
      const others = Array.from({ length: 50 }, (_, index) => `other-${index}`);
      await pods(others, []);
      await pods(["licensed"], [LICENCE]);
      await nodesOf([...others, "licensed"]);
      expect(await extender.requests()).toBe(0);
      await pods(["ours"], [RESOURCE]);
      expect(await nodesOf(["ours"])).toEqual(["n2"]);
      expect(await extender.requests('outcome="scored"')).toBe(1);
    });

    test("the guard opens when canaries are scheduled and closes when they pend; none is left behind", async () => {
      const extender = await replica(GUARD);
      await testbed.cluster.restartScheduler(
        await schedulerConfig(extender.url, testbed.certificates, {
          options: ["--managed-resource", RESOURCE],
        }),
      );
      await expect
        .poll(() => injectable(extender), { timeout: 20_000 })
        .toMatchObject({ injectable: true, reason: null });
      await testbed.cluster.restartScheduler(BASE_CONFIG);
      await expect
        .poll(() => injectable(extender), { timeout: 20_000 })
        .toMatchObject({ injectable: false, reason: expect.stringContaining(`Insufficient ${RESOURCE}`) });
      expect(await extender.metrics()).toMatch(/managed_resource_injectable 0/);
      await extender.stop();
      await testbed.cluster.waitFor("pods", (all) => all.length === 0, { namespace: CANARIES });
    });

    test("by a second scheduler: only pods that name it are asked about", async () => {
      const extender = await replica();
      const config = await schedulerConfig(extender.url, testbed.certificates, {
        options: ["--second-scheduler", "isochrone-scheduler"],
      });
      await testbed.cluster.restartScheduler(config);
      await pods(["first-scheduler"], []);
      await pods(["second-scheduler"], [], "isochrone-scheduler");
      expect(await nodesOf(["second-scheduler"])).toEqual(["n2"]);
      expect(await extender.requests()).toBe(1);
      const waiting = await testbed.cluster.get({
        apiVersion: "v1",
        kind: "Pod",
        namespace: "default",
        name: "first-scheduler",
      });
      expect(nodeNameOf(waiting!)).toBeNull();
    });

    test("a filter rejects nodes beyond a declared limit, and the pending pod is told so", async () => {
      const cheap = workflowGraph({ p: [], q: ["n2"] }, [["p", "q", 1_000]]);
      const channels = cheap.channels.map((channel) => ({ ...channel, maxNetworkCost: 3 }));
      testbed.graphs.say({
        cluster: clusterGraph(
          NODES.map((name) => ({ name })),
          (a, b) => (a === "n2" || b === "n2" ? 5 : 50),
        ),
        workflow: { ...cheap, channels },
      });
      const extender = await replica();
      await testbed.cluster.restartScheduler(
        await schedulerConfig(extender.url, testbed.certificates, { options: ["--filter"] }),
      );
      await pods(["within"], []);
      expect(await nodesOf(["within"])).toEqual(["n2"]);
      await testbed.cluster.createPods(["beyond"], {
        labels: { app: "p", "isochrone.dev/workflow": "flow" },
        spec: { nodeSelector: { "kubernetes.io/hostname": "n1" } },
      });
      const message = await testbed.cluster.waitFor("pods", (all) => {
        const conditions = all.find(({ metadata }) => metadata.name === "beyond")?.status?.["conditions"];
        return (conditions as { reason?: string; message?: string }[] | undefined)?.find(
          ({ reason }) => reason === "Unschedulable",
        )?.message;
      });
      expect(message).toContain("maxNetworkCost of channel p -> q is 3");
    });

    test("with a real aggregator: what probes and proxies report decides where a pod goes", async () => {
      const measured = {
        rttMs: Object.fromEntries(
          NODES.flatMap((a) =>
            NODES.filter((b) => b !== a).map((b) => [`${a} ${b}`, a === "n3" || b === "n3" ? 2 : 60]),
          ),
        ),
        bytesPerSecond: { "cart redis": 200_000 },
      };
      await testbed.cluster.createNamespace("shop");
      const pod = (name: string, workload: string, nodeName: string | null): Promise<unknown> =>
        testbed.cluster.create({
          apiVersion: "v1",
          kind: "Pod",
          metadata: {
            namespace: "shop",
            name,
            labels: { "isochrone.dev/workflow": "shop", "pod-template-hash": "5d4f" },
            ownerReferences: [
              {
                apiVersion: "apps/v1",
                kind: "ReplicaSet",
                name: `${workload}-5d4f`,
                uid: "00000000-0000-4000-8000-000000000000",
                controller: true,
              },
            ],
          },
          spec: { containers: [{ name: "main", image: "none" }], ...(nodeName === null ? {} : { nodeName }) },
        });
      await pod("redis-1", "redis", "n3");
      await pod("cart-1", "cart", "n0");
      const aggregator = await MeasuredAggregator.start(testbed.cluster.kubeconfig, {}, measured);
      onTestFinished(() => aggregator.stop());
      const extender = await replica({ gamma: 0, delta: 1 }, aggregator.url);
      await testbed.cluster.restartScheduler(await schedulerConfig(extender.url, testbed.certificates));
      const isKnown = async (): Promise<boolean> => {
        const graph = await fetch(`${aggregator.url}/api/v1/graph/workflows/shop/shop`);
        const { channels = [] } = (await graph.json()) as { channels?: { bytesPerSecond: number | null }[] };
        return channels.some(({ bytesPerSecond }) => (bytesPerSecond ?? 0) > 0);
      };
      await expect.poll(isKnown, { timeout: 30_000, interval: 250 }).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 500));
      await pod("cart-2", "cart", null);
      expect(await nodesOf(["cart-2"], "shop")).toEqual(["n3"]);
      const [decision] = await extender.decisions("cart-2");
      expect(decision).toMatchObject({ workload: "cart", best: "n3", workflow: "shop/shop" });
      expect(decision!.inputs.clusterVersion).not.toBeNull();
    });
  },
);
