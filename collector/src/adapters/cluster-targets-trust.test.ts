import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Target } from "../ports/ports.ts";
import {
  ciliumPod,
  controller,
  gatewayPod,
  injectedPod,
  nodeExporterPod,
  pod,
  ztunnelPod,
} from "../testing/pods.ts";
import { ClusterTargets, DEFAULT_DISCOVERY, type DiscoveryOptions } from "./cluster-targets.ts";

const ISTIO = DEFAULT_DISCOVERY.istio!;

const clock = new ManualClock();
let store: ClusterStore;
let found: ClusterTargets | null = null;

beforeEach(() => {
  store = createMemoryStore({ clock });
});
afterEach(async () => {
  await found?.stop();
  found = null;
});

async function discover(
  objects: readonly KubernetesObject[],
  discovery: Partial<DiscoveryOptions> = {},
): Promise<ClusterTargets> {
  for (const object of objects) await store.create(object);
  found = new ClusterTargets({
    store,
    clock,
    random: seededRandom(1),
    logger: new MemoryLogger(),
    node: "n1",
    discovery: { ...DEFAULT_DISCOVERY, ...discovery },
  });
  await found.start();
  return found;
}

const targetsOf = async (...args: Parameters<typeof discover>): Promise<readonly Target[]> =>
  (await discover(...args)).targets();

describe("Istio's proxies", () => {
  it.each([
    ["of no DaemonSet", ztunnelPod({ owner: undefined })],
    ["of another DaemonSet", ztunnelPod({ owner: controller("DaemonSet", "impostor") })],
    ["of a Deployment of that name", ztunnelPod({ owner: controller("Deployment", "ztunnel") })],
    [
      "that a DaemonSet owns without being its controller",
      ztunnelPod({ owner: { ...controller("DaemonSet", "ztunnel"), controller: false } }),
    ],
    ["of a DaemonSet of that name in another namespace", ztunnelPod({ namespace: "evil" })],
  ])("don't believe a ztunnel %s, whatever its labels say", async (_, object) => {
    expect(await targetsOf([object])).toEqual([]);
  });

  it("believe ztunnels of the DaemonSets that an operator names", async () => {
    const istio = { ...ISTIO, ztunnelDaemonSets: ["mesh/tunnel"] };
    const owner = controller("DaemonSet", "tunnel");
    const targets = await targetsOf([ztunnelPod(), ztunnelPod({ namespace: "mesh", owner })], { istio });
    expect(targets.map(({ instance }) => instance)).toEqual(["mesh/ztunnel-abcde"]);
  });

  it("are read of the service accounts that an operator lists, and of no others", async () => {
    const istio = { ...ISTIO, proxyAccounts: ["shop/*", "*/gateway"] };
    const targets = await targetsOf(
      [
        injectedPod(),
        injectedPod({ name: "evil-0", namespace: "evil" }),
        injectedPod({ name: "edge-0", namespace: "edge", account: "gateway" }),
      ],
      { istio },
    );
    expect(targets.map(({ instance }) => instance)).toEqual(["edge/edge-0", "shop/cart-0"]);
  });

  it.each([
    [
      "a Deployment, by its ReplicaSet's hash",
      injectedPod({
        name: "web-5d9-x7f",
        labels: { "pod-template-hash": "5d9" },
        owner: controller("ReplicaSet", "web-5d9"),
      }),
      ["web"],
    ],
    [
      "a Rollout, by its ReplicaSet's hash",
      injectedPod({
        labels: { "rollouts-pod-template-hash": "77b" },
        owner: controller("ReplicaSet", "web-77b"),
      }),
      ["web", "web-77b"],
    ],
    ["a StatefulSet", injectedPod({ owner: controller("StatefulSet", "db") }), ["db"]],
    [
      "a CronJob, by its Job's time",
      injectedPod({ owner: controller("Job", "report-28934720") }),
      ["report", "report-28934720"],
    ],
    [
      "a DeploymentConfig, by the label of its ReplicationController",
      injectedPod({
        owner: controller("ReplicationController", "web-3"),
        labels: { deploymentconfig: "web" },
      }),
      ["web", "web-3"],
    ],
    ["a CloneSet", injectedPod({ owner: controller("CloneSet", "db") }), ["db"]],
    [
      "a controller that names its pods, by the pod's name too",
      injectedPod({ name: "kafka-0", owner: controller("StrimziPodSet", "kafka"), isNamed: true }),
      ["kafka", "kafka-0"],
    ],
    [
      "the name that Istio lets users set",
      injectedPod({
        owner: controller("StatefulSet", "db"),
        labels: { "service.istio.io/workload-name": "store" },
      }),
      ["db", "store"],
    ],
    [
      "whatever its owner says, not other labels",
      injectedPod({
        owner: controller("StatefulSet", "db"),
        labels: { app: "web", "pod-template-hash": "1", "service.istio.io/canonical-name": "web" },
      }),
      ["db"],
    ],
  ])("speak for their pod's own workload: %s", async (_, object, workloads) => {
    const [target] = await targetsOf([object]);
    expect(target!.scope).toEqual({ of: "pod", namespace: "shop", workloads, serves: [] });
  });

  it("of waypoints speak for their own namespace, and for those that an operator adds", async () => {
    const istio = { ...ISTIO, waypointServes: ["mesh=shop", "mesh=store"] };
    const pods = [
      gatewayPod("istio-waypoint", { namespace: "evil" }),
      gatewayPod("istio-waypoint", { namespace: "mesh" }),
      gatewayPod("istio", { namespace: "mesh", name: "gateway" }),
    ];
    const targets = await targetsOf(pods, { istio });
    expect(targets.map(({ scope }) => (scope?.of === "pod" ? scope.serves : null))).toEqual([
      ["evil"],
      [],
      ["mesh", "shop", "store"],
    ]);
  });

  it("of a node speak for the workloads on it, and for some time after a pod has gone", async () => {
    const cluster = await discover([
      ztunnelPod(),
      pod({ name: "web-0" }),
      pod({ name: "far-0", node: "n2" }),
    ]);
    const runs = (name: string): boolean => {
      const scope = cluster.targets()[0]!.scope!;
      return scope.of === "node" && scope.runs("shop", name);
    };
    expect([runs("web-0"), runs("far-0")]).toEqual([true, false]);
    await store.delete({ ...KINDS.pod, namespace: "shop", name: "web-0" }, { gracePeriodSeconds: 0 });
    await clock.advance(599_000);
    expect(runs("web-0")).toBe(true);
    await clock.advance(2_000);
    expect(runs("web-0")).toBe(false);
  });
});

describe("Hubble", () => {
  it.each([
    ["in any other namespace", ciliumPod(true, { namespace: "evil" })],
    ["of no DaemonSet", ciliumPod(true, { owner: undefined })],
    ["of another DaemonSet", ciliumPod(true, { owner: controller("DaemonSet", "impostor") })],
  ])("leaves a pod %s alone that carries Cilium's label", async (_, object) => {
    expect(await targetsOf([object])).toEqual([]);
  });
});

describe("node_exporter", () => {
  const named = { nodeExporterDaemonSets: ["monitoring/node-exporter"] };

  it("is read where an operator names its DaemonSet, and nowhere by itself", async () => {
    expect(await targetsOf([nodeExporterPod()], named)).toEqual([
      {
        kind: "node_exporter",
        role: "pod",
        url: "http://192.0.2.1:9100/metrics",
        instance: "monitoring/node-exporter-xyz:9100",
      },
    ]);
    await found?.stop();
    const other = nodeExporterPod({ name: "node-exporter-abc" });
    expect(await targetsOf([other])).toEqual([]);
  });

  it.each([
    ["in any other namespace", nodeExporterPod({ namespace: "evil" })],
    ["of no DaemonSet", nodeExporterPod({ owner: undefined })],
    ["of another DaemonSet", nodeExporterPod({ owner: controller("DaemonSet", "impostor") })],
  ])("leaves a pod %s alone that carries its label", async (_, object) => {
    expect(await targetsOf([object], named)).toEqual([]);
  });
});
