import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { KINDS } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { deploymentObject, fill, nodeObject, podObject } from "../testing/cluster.ts";
import { StoreClusterWatch } from "./store-cluster-watch.ts";

let clock: ManualClock;
let store: ClusterStore;
let logger: MemoryLogger;
let watch: StoreClusterWatch;

beforeEach(() => {
  clock = new ManualClock();
  logger = new MemoryLogger();
  store = createMemoryStore({ clock });
  watch = new StoreClusterWatch({ store, clock, random: seededRandom(1), logger });
});

afterEach(() => watch.stop());

async function started(objects: readonly KubernetesObject[]): Promise<void> {
  await fill(store, objects);
  await watch.start();
  await clock.advance(10);
}

function appGroup(workloads: unknown[]): KubernetesObject {
  return { ...KINDS.appGroup, metadata: { namespace: "shop", name: "group" }, spec: { workloads } };
}

describe("StoreClusterWatch", () => {
  test("names the kinds that it still waits for", async () => {
    expect(watch.pending()).toEqual(["Node", "Pod", "ReplicaSet", "Deployment"]);
    await started([]);
    expect(watch.pending()).toEqual([]);
  });

  test("reads the limits that pods' annotations set for the CNI, and no others", async () => {
    const limited = podObject("shop", "limited", "n1");
    limited.metadata.annotations = {
      "kubernetes.io/ingress-bandwidth": "10M",
      "kubernetes.io/egress-bandwidth": "lots",
    };
    await started([limited, podObject("shop", "plain", "n1")]);
    const [first, second] = watch.current().pods.toSorted((a, b) => a.name.localeCompare(b.name));
    expect(first).toMatchObject({ name: "limited", ingressLimitBitsPerSecond: 10e6 });
    expect(first).not.toHaveProperty("egressLimitBitsPerSecond");
    expect(second).not.toHaveProperty("ingressLimitBitsPerSecond");
  });

  test("reads from Services where callers of a workload prefer a nearer replica, anew when one changes", async () => {
    const web = deploymentObject("shop", "web", "checkout");
    const spec = { selector: { app: "web" }, clusterIP: "10.0.0.1", trafficDistribution: "PreferClose" };
    await started([web, { ...KINDS.service, metadata: { namespace: "shop", name: "web" }, spec }]);
    expect(watch.current().routing).toEqual(new Map([["shop/web", ["zone"]]]));
    await store.patch(
      { ...KINDS.service, namespace: "shop", name: "web" },
      { spec: { trafficDistribution: "PreferSameNode" } },
    );
    await clock.advance(10);
    expect(watch.current().routing).toEqual(new Map([["shop/web", ["node", "zone"]]]));
    await store.delete({ ...KINDS.service, namespace: "shop", name: "web" });
    await clock.advance(10);
    expect(watch.current().routing).toEqual(new Map());
  });

  test("takes no generated AppGroup for a declaration", async () => {
    const dependencies = [{ workload: { kind: "Deployment", name: "db", selector: "db" } }];
    const group = appGroup([
      { workload: { kind: "Deployment", name: "web", selector: "web" }, dependencies },
    ]);
    await started([group]);
    expect(watch.current().declared).toHaveLength(1);
    await store.patch(
      { ...KINDS.appGroup, namespace: "shop", name: "group" },
      { metadata: { annotations: { "isochrone.dev/appgroup-generated": "x" } } },
    );
    await clock.advance(10);
    expect(watch.current().declared).toEqual([]);
  });

  test("reads the network capacity that nodes declare as an extended resource, in bits per second", async () => {
    await watch.stop();
    const resource = "network.aware.com/bandwidth";
    watch = new StoreClusterWatch({
      store,
      clock,
      random: seededRandom(1),
      logger,
      bandwidthResource: resource,
    });
    const allocatableOnly = nodeObject("c", "z1");
    await started([
      nodeObject("a", "z1", { [resource]: "10000000000" }),
      nodeObject("b", "z1", { [resource]: "25G" }),
      { ...allocatableOnly, status: { ...allocatableOnly.status, allocatable: { [resource]: "1G" } } },
      nodeObject("d", "z1"),
      nodeObject("e", "z1", { [resource]: "fast" }),
      nodeObject("f", "z1", { [resource]: "0" }),
    ]);
    expect(watch.current().nodes.map((node) => node.networkCapacityBitsPerSecond)).toEqual([
      10e9,
      25e9,
      1e9,
      null,
      null,
      null,
    ]);
  });

  test("reads nodes in order of their names, pods with their workflow, and follows changes", async () => {
    await started([
      nodeObject("b", "z2"),
      nodeObject("a", "z1"),
      podObject("shop", "web-1", "a", { labels: { "isochrone.dev/workflow": "checkout" } }),
    ]);
    expect(watch.current().nodes.map(({ name, zone, ready }) => [name, zone, ready])).toEqual([
      ["a", "z1", true],
      ["b", "z2", true],
    ]);
    expect(watch.current().pods).toEqual([
      {
        namespace: "shop",
        name: "web-1",
        node: "a",
        workload: null,
        workflow: { namespace: "shop", name: "checkout" },
      },
    ]);
    await store.patch({ ...KINDS.node, name: "a" }, { spec: { unschedulable: true } });
    await clock.advance(10);
    expect(watch.current().nodes[0]!.cordoned).toBe(true);
  });

  test("gives the same state while nothing changed", async () => {
    await started([nodeObject("a", "z1")]);
    expect(watch.current()).toBe(watch.current());
  });

  test("pods that ended are no replicas", async () => {
    const ended = podObject("shop", "job-1", "a");
    await started([{ ...ended, status: { phase: "Succeeded" } }]);
    expect(watch.current().pods).toEqual([]);
  });

  test("an AppGroup's dependencies are declared channels, in bits per second", async () => {
    const dependency = {
      workload: { kind: "Deployment", name: "db" },
      maxNetworkCost: 30,
      minBandwidth: "10M",
    };
    await started([
      appGroup([{ workload: { kind: "Deployment", name: "web" }, dependencies: [dependency] }]),
    ]);
    expect(watch.current().declared).toEqual([
      {
        source: { namespace: "shop", name: "web" },
        target: { namespace: "shop", name: "db" },
        priority: null,
        maxNetworkCost: 30,
        minBandwidthBitsPerSecond: 1e7,
      },
    ]);
  });

  test("an AppGroup's annotation gives its channels type and priority, and a workload's channel to itself", async () => {
    const depending = (name: string, maxNetworkCost: number): unknown => ({
      workload: { kind: "Deployment", name },
      maxNetworkCost,
    });
    const group = appGroup([
      {
        workload: { kind: "Deployment", name: "web" },
        dependencies: [depending("db", 10_000), depending("cache", 10_000), depending("api", 30)],
      },
    ]);
    group.metadata.annotations = {
      "isochrone.dev/channels": JSON.stringify([
        { source: "web", target: "db", type: "HTTPRoute", priority: 100 },
        { source: "web", target: "api", type: "Own" },
        { source: "web", target: "web", priority: 1 },
        { source: "web", target: "gone", priority: 9 },
      ]),
    };
    await started([group]);
    const channel = (target: string, rest: object): object => ({
      source: { namespace: "shop", name: "web" },
      target: { namespace: "shop", name: target },
      priority: null,
      maxNetworkCost: null,
      minBandwidthBitsPerSecond: null,
      ...rest,
    });
    expect(watch.current().declared).toEqual([
      channel("db", { priority: 100, relationshipType: "HTTPRoute" }),
      channel("cache", { maxNetworkCost: 10_000 }),
      channel("api", { maxNetworkCost: 30, relationshipType: "Own" }),
      channel("web", { priority: 1 }),
    ]);
  });

  test("an annotation that can't be read is named once and stops nothing", async () => {
    await started([
      deploymentObject("shop", "web", "c", { "isochrone.dev/dependencies": "{" }),
      deploymentObject("shop", "api", "c", {
        "isochrone.dev/dependencies": '[{"name": "db"}, {"nme": "x"}]',
      }),
    ]);
    expect(watch.current().declared).toMatchObject([{ source: { name: "api" }, target: { name: "db" } }]);
    const subjects = new Set(logger.lines.map(({ fields }) => fields["subject"]));
    expect(subjects).toEqual(new Set(["Deployment shop/api", "Deployment shop/web"]));
    expect(logger.lines).toHaveLength(2);
  });
});
