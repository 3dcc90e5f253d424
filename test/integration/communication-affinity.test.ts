// Section 5 of "Communication Aware Scheduling of Microservices-based Applications on Kubernetes Clusters".
// Pins a pod where the paper assumes the outcome of a tie.
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { describe, expect, onTestFinished, test } from "vitest";
import { controlPlaneSupport, nodeNameOf } from "../harness/control-plane/index.ts";
import { clusterGraph, schedulerConfig, workflowGraph, WORKFLOW } from "../harness/extender.ts";
import type { Replica } from "../harness/extender.ts";
import { extenderTestbed } from "../harness/extender-testbed.ts";

const NODES = ["node0", "node1", "node2", "node3"];
/** Milliseconds, by the digits of both nodes. */
const LATENCY_MS: Readonly<Record<string, number>> = {
  "01": 40,
  "02": 20,
  "12": 20,
  "23": 100,
  "03": 120,
  "13": 120,
};
const latencyMs = (a: string, b: string): number => LATENCY_MS[[a.slice(-1), b.slice(-1)].sort().join("")]!;

const ROUTES: readonly (readonly [source: string, target: string, type: string])[] = [
  ["api-gateway", "message-publisher", "HTTPRoute"],
  ["api-gateway", "message-reader", "HTTPRoute"],
  ["api-gateway", "message-notifier", "HTTPServerPushRoute"],
  ["message-publisher", "rabbitmq", "AMQPRoute"],
  ["message-reader", "rabbitmq", "AMQPRoute"],
  ["message-notifier", "rabbitmq", "AMQPRoute"],
  ["message-reader", "mongodb", "SynchronousRoute"],
];
const WORKLOADS = [...new Set(ROUTES.flatMap(([source, target]) => [source, target]))];

function messaging(traffic: Readonly<Record<string, number>> = {}): WorkflowGraphSnapshot {
  const graph = workflowGraph(Object.fromEntries(WORKLOADS.map((name) => [name, []])), []);
  const [plain] = workflowGraph({}, [["a", "b", 0]]).channels;
  return {
    ...graph,
    channels: ROUTES.map(([source, target, relationshipType]) => ({
      ...plain!,
      source,
      target,
      relationshipType,
      bytesPerSecond: traffic[`${source} ${target}`] ?? null,
    })),
  };
}

const support = controlPlaneSupport(["scheduler"]);
if (!support.supported) console.warn(`communication-affinity is not tested: ${support.reason}`);

describe.runIf(support.supported)("the messaging application on a real kube-scheduler", () => {
  const testbed = extenderTestbed(async ({ cluster }) => {
    await cluster.addNodes(NODES.length, (index) => ({ name: NODES[index]!, memory: "4G" }));
  });

  const say = (traffic?: Readonly<Record<string, number>>): void => {
    const nodes = NODES.map((name) => ({ name }));
    testbed.graphs.say({ cluster: clusterGraph(nodes, latencyMs), workflow: messaging(traffic) });
  };

  const labelsOf = (workload: string): Record<string, string> => ({
    app: workload,
    "isochrone.dev/workflow": WORKFLOW,
  });

  const best = async (extender: Replica, workload: string, among: readonly string[]): Promise<string[]> => {
    const metadata = { name: workload, namespace: "default", labels: labelsOf(workload) };
    const answer = await extender.post("prioritize", { Pod: { metadata }, NodeNames: among });
    const scores = answer.json as { Host: string; Score: number }[];
    const most = Math.max(...scores.map(({ Score }) => Score));
    return scores.flatMap(({ Host, Score }) => (Score === most ? [Host] : [])).sort();
  };

  const place = async (workload: string, pin?: string): Promise<string> => {
    const memory = workload === "rabbitmq" ? "3G" : "1500M";
    const pinned = pin === undefined ? {} : { spec: { nodeSelector: { "kubernetes.io/hostname": pin } } };
    await testbed.cluster.createPods([workload], {
      labels: labelsOf(workload),
      requests: { memory },
      ...pinned,
    });
    return testbed.cluster.waitFor(
      "pods",
      (pods: readonly KubernetesObject[]) => {
        const pod = pods.find(({ metadata }) => metadata.name === workload);
        return pod === undefined ? null : nodeNameOf(pod);
      },
      { namespace: "default" },
    );
  };

  test.each(["normalized", "raw"])(
    "is placed as figure 5 shows it, and follows the traffic: %s",
    async (mode) => {
      say();
      const extender = await testbed.replica({ strategy: "communication-affinity", mode });
      onTestFinished(async () => {
        for (const name of WORKLOADS)
          await testbed.cluster
            .request("DELETE", `/api/v1/namespaces/default/pods/${name}`, { gracePeriodSeconds: 0 })
            .catch(() => undefined);
      });
      await testbed.cluster.restartScheduler(await schedulerConfig(extender.url, testbed.certificates));
      const eventually = (workload: string, among: readonly string[]) =>
        expect.poll(() => best(extender, workload, among), { timeout: 15_000 });

      await eventually("rabbitmq", NODES).toEqual(NODES);
      expect(await place("rabbitmq", "node3")).toBe("node3");
      const roomy = NODES.slice(0, 3);
      await eventually("mongodb", roomy).toEqual(roomy);
      expect(await place("mongodb", "node2")).toBe("node2");

      await eventually("message-notifier", roomy).toEqual(["node2"]);
      expect(await place("message-notifier")).toBe("node2");

      const left = NODES.slice(0, 2);
      await eventually("message-reader", left).toEqual(left);
      expect(await place("message-reader", "node1")).toBe("node1");
      // Our scores tie, so kube-scheduler's own balancing decides.
      await eventually("message-publisher", left).toEqual(left);
      expect(await place("message-publisher")).toBe("node0");
      await eventually("api-gateway", left).toEqual(left);
      expect(await place("api-gateway", "node1")).toBe("node1");

      say({ "api-gateway message-publisher": 50_000, "api-gateway message-reader": 10_000 });
      await testbed.cluster.request("DELETE", "/api/v1/namespaces/default/pods/api-gateway", {
        gracePeriodSeconds: 0,
      });
      await eventually("api-gateway", left).toEqual(["node0"]);
      expect(await place("api-gateway")).toBe("node0");
      const [decision] = await extender.decisions("api-gateway");
      expect(decision).toMatchObject({ strategy: "communication-affinity", mode, best: "node0" });
      expect(decision!.explanation.join(" ")).toContain("The traffic part decided");
    },
  );
});
