// Nodes advertise bandwidth as an extended resource, which kube-scheduler's fit plugin counts.
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  controlPlaneSupport,
  isRunning,
  nodeNameOf,
  startControlPlane,
  type ControlPlane,
} from "../harness/control-plane/index.ts";
import { CONTROLLER_RULES, MeasuredAggregator } from "../harness/measured-aggregator.ts";

const COMPONENTS = ["scheduler", "controller-manager", "kwok"] as const;
const support = controlPlaneSupport(COMPONENTS);
if (!support.supported) console.warn(`bandwidth on a real scheduler skipped: ${support.reason}`);

const ACCOUNT = { serviceAccount: { namespace: "isochrone", name: "aggregator" } };
const RESOURCE = "network.aware.com/bandwidth";
const CONDITION = "isochrone.dev/BandwidthAdvertised";

describe.runIf(support.supported)("nodes' bandwidth on a real kube-scheduler", () => {
  let cluster: ControlPlane;
  let kubeconfig: string;
  let aggregator: MeasuredAggregator | null = null;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: COMPONENTS, audit: true });
    kubeconfig = await cluster.kubeconfigOf(ACCOUNT);
    await cluster.grant(ACCOUNT, CONTROLLER_RULES);
    await cluster.addNodes([
      { name: "fast-1" },
      { name: "fast-2" },
      { name: "slow", annotations: { "isochrone.dev/bandwidth-capacity": "500M" } },
      { name: "unknown" },
    ]);
  }, 900_000);
  afterAll(() => cluster?.close());
  afterEach(async () => {
    await aggregator?.stop();
    aggregator = null;
  });

  async function start(advertise: "off" | "declared" | "measured"): Promise<void> {
    const settings = { bandwidthResource: { advertise, checkIntervalMs: 300 } };
    // Both ends of a burst carry at least its rate.
    aggregator = await MeasuredAggregator.start(kubeconfig, settings, {
      bursts: { "fast-1 fast-2": 1_000_400_000 },
    });
  }

  const amounts = (nodes: readonly KubernetesObject[], field: "capacity" | "allocatable") =>
    Object.fromEntries(
      nodes.map(({ metadata, status }) => [
        metadata.name,
        (status?.[field] as Record<string, string> | undefined)?.[RESOURCE] ?? null,
      ]),
    );

  /** KEP-260's example: a request for the scheduler, and limits for the CNI. */
  const demanding = {
    requests: { cpu: "100m", [RESOURCE]: "400M" },
    limits: { [RESOURCE]: "400M" },
    annotations: { "kubernetes.io/ingress-bandwidth": "400M", "kubernetes.io/egress-bandwidth": "400M" },
    labels: { "isochrone.dev/workflow": "streams" },
  };

  test("as many pods land on a node as its bandwidth is enough for; the next one waits, and says for what", async () => {
    await start("measured");
    const wanted = { "fast-1": "1G", "fast-2": "1G", slow: "500M", unknown: null };
    const nodes = await cluster.waitFor(
      "nodes",
      (all) =>
        amounts(all, "capacity")["fast-1"] !== null && amounts(all, "capacity")["slow"] !== null && all,
    );
    expect(amounts(nodes, "capacity")).toEqual(wanted);
    expect(amounts(nodes, "allocatable")).toEqual(wanted);
    expect(conditionOf(nodes.find(({ metadata }) => metadata.name === "fast-1")!)).toMatchObject({
      status: "True",
      reason: "Measured",
      message: `1000000000 bit/s as ${RESOURCE}`,
    });

    await cluster.createPods(6, demanding);
    const pods = await cluster.waitFor(
      "pods",
      (all) => all.filter(isRunning).length === 5 && all.some((pod) => waitsFor(pod) !== null) && all,
      { namespace: "default" },
    );
    const perNode = Map.groupBy(pods, (pod) => nodeNameOf(pod));
    expect(Object.fromEntries([...perNode].map(([node, on]) => [node, on.length]))).toEqual({
      "fast-1": 2,
      "fast-2": 2,
      slow: 1,
      null: 1,
    });
    expect(pods.map(waitsFor).find((message) => message !== null)).toContain(`Insufficient ${RESOURCE}`);

    // Node heartbeats remove nothing, and measured values are not read back as declarations.
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(amounts(await cluster.list("nodes"), "capacity")).toEqual(wanted);
    const graph = (await aggregator!.graph("/api/v1/graph/cluster")) as {
      nodes: { name: string; networkCapacityBitsPerSecond: number | null }[];
    };
    const declared = graph.nodes.map((node) => [node.name, node.networkCapacityBitsPerSecond]);
    expect(Object.fromEntries(declared)).toEqual({
      "fast-1": null,
      "fast-2": null,
      slow: 500e6,
      unknown: null,
    });

    await cluster.kubectl("annotate", "node", "unknown", "isochrone.dev/bandwidth-capacity=400M");
    await cluster.waitFor("pods", (all) => all.filter(isRunning).length === 6, { namespace: "default" });
  });

  test("pods' limits for the CNI are in the workflow graph", async () => {
    await start("measured");
    const graph = await expectEventually(async () => {
      const answer = (await aggregator!.graph("/api/v1/graph/workflows/default/streams")) as {
        workloads?: { pods: Record<string, unknown>[] }[];
      };
      return (answer.workloads ?? []).length === 6 && answer;
    });
    expect(graph.workloads!.flatMap(({ pods }) => pods)[0]).toMatchObject({
      ingressLimitBitsPerSecond: 400e6,
      egressLimitBitsPerSecond: 400e6,
    });
  });

  test("another one's value stays and is reported; switched off, everything of ours is taken back", async () => {
    await cluster.patch(
      { ...KINDS.node, name: "fast-2" },
      { status: { capacity: { [RESOURCE]: "7G" } } },
      "status",
    );
    await start("measured");
    await cluster.waitFor(KINDS.event, (events) =>
      events.find(({ reason }) => reason === "BandwidthChangedByAnother"),
    );
    await aggregator!.stop();
    await start("off");
    const nodes = await cluster.waitFor(
      "nodes",
      (all) => all.every((node) => conditionOf(node) === undefined) && all,
    );
    expect(amounts(nodes, "capacity")).toEqual({ "fast-1": null, "fast-2": "7G", slow: null, unknown: null });
    const asked = await cluster.auditEvents(({ user }) => user.endsWith(":isochrone:aggregator"));
    const patches = asked.filter(({ verb, subresource }) => verb === "patch" && subresource === "status");
    expect(patches.length).toBeGreaterThan(0);
    expect(asked.filter(({ decision }) => decision === "forbid").map(({ path }) => path)).toEqual([]);
  });
});

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

function conditionOf({ status }: KubernetesObject, type = CONDITION): Condition | undefined {
  return ((status?.["conditions"] ?? []) as Condition[]).find((condition) => condition.type === type);
}

/** Reason why the pod is not scheduled. Null: scheduled or not yet tried. */
function waitsFor(pod: KubernetesObject): string | null {
  const condition = conditionOf(pod, "PodScheduled");
  return condition?.status === "False" ? (condition.message ?? null) : null;
}

async function expectEventually<T>(get: () => Promise<T | false>): Promise<T> {
  for (const deadline = performance.now() + 20_000; performance.now() < deadline;) {
    const result = await get();
    if (result !== false) return result;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("it was not so within 20 s");
}
