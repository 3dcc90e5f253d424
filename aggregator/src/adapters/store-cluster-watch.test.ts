import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { KINDS, StoreError } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Tables } from "../domain/graphs/tables.ts";
import { buildWorkflows } from "../domain/graphs/workflows.ts";
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
    const depending = (name: string, maxNetworkCost?: number): unknown => ({
      workload: { kind: "Deployment", name },
      ...(maxNetworkCost === undefined ? {} : { maxNetworkCost }),
    });
    const group = appGroup([
      {
        workload: { kind: "Deployment", name: "web" },
        dependencies: [
          depending("db", 10_000),
          depending("cache", 10_000),
          depending("api", 30),
          depending("log"),
        ],
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
      // No limit. Upstream's plugin reads an absent limit as 0.
      channel("db", { maxNetworkCost: 10_000, priority: 100, relationshipType: "HTTPRoute" }),
      channel("cache", { maxNetworkCost: 10_000 }),
      channel("api", { maxNetworkCost: 30, relationshipType: "Own" }),
      channel("log", {}),
      channel("web", { priority: 1 }),
    ]);
  });

  describe("an AppGroup that names its workloads by selectors", () => {
    const reference = (selector: string): object => ({
      kind: "Deployment",
      name: `${selector}-deployment`,
      selector,
    });
    const group = appGroup([
      { workload: reference("p1"), dependencies: [{ workload: reference("p2"), maxNetworkCost: 30 }] },
      { workload: reference("p2") },
    ]);
    const labels = (selector: string): Record<string, string> => ({
      "appgroup.diktyo.x-k8s.io": "group",
      "appgroup.diktyo.x-k8s.io.workload": selector,
    });
    const release = (name: string, selector: string): KubernetesObject => {
      const object = deploymentObject("shop", name, "group");
      const template = { metadata: { labels: labels(selector) }, spec: { containers: [] } };
      return { ...object, spec: { ...object.spec, template } };
    };
    const declared = (): string[] =>
      watch.current().declared.map(({ source, target }) => `${source.name} -> ${target.name}`);
    const refused = (): unknown[] =>
      logger.lines.map(({ fields }) => [fields["subject"], fields["reason"], fields["channels"]]);

    test("means those whose pods carry them, whatever a Helm release calls them", async () => {
      await started([group, release("rel-web", "p1"), release("rel-db", "p2")]);
      expect(declared()).toEqual(["rel-web -> rel-db"]);
      expect(refused()).toEqual([]);
      expect(watch.refusedDeclarations().get("unmatched")).toBe(0);
    });

    test("means pods of any controller, known by their own labels, as they come and go", async () => {
      await started([group, release("rel-web", "p1")]);
      expect(declared()).toEqual(["rel-web -> p2"]);
      expect(refused()).toEqual([["AppGroup shop/group", "unmatched", 1]]);
      const ofSet = podObject("shop", "rollout-x", "a", { labels: labels("p2") });
      ofSet.metadata.ownerReferences = [
        { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", name: "rel-db", uid: "1", controller: true },
      ];
      await store.create(ofSet);
      await clock.advance(10);
      expect(declared()).toEqual(["rel-web -> rel-db"]);
      expect(watch.refusedDeclarations().get("unmatched")).toBe(0);
      await store.delete({ ...KINDS.pod, namespace: "shop", name: "rollout-x" }, { gracePeriodSeconds: 0 });
      await clock.advance(10);
      expect(declared()).toEqual(["rel-web -> p2"]);
      expect(watch.refusedDeclarations().get("unmatched")).toBe(1);
    });

    test("makes one workload of bare pods that carry the same", async () => {
      const bare = ["a", "b"].map((node) => podObject("shop", `db-${node}`, node, { labels: labels("p2") }));
      await started([group, release("rel-web", "p1"), ...bare]);
      const state = watch.current();
      expect(declared()).toEqual(["rel-web -> p2"]);
      const tables = new Tables(
        { windowMs: 30_000, paneMs: 2_000, panes: 15, fastPanes: 3 },
        { maxLinks: 10, maxChannels: 10, maxPods: 10 },
      );
      const [graph] = buildWorkflows(tables, state, { version: 1, nowMs: 0 }, "full");
      expect(graph).toMatchObject({ namespace: "shop", name: "group" });
      expect(
        graph!.workloads.map(({ name, kind, pods }) => [name, kind, pods.map((pod) => pod.name)]),
      ).toEqual([
        ["p2", "Pod", ["db-a", "db-b"]],
        ["rel-web", "Deployment", []],
      ]);
      expect(graph!.channels).toMatchObject([{ source: "rel-web", target: "p2", maxNetworkCost: 30 }]);
    });

    test("says nothing of selectors before all pods and workloads are listed", async () => {
      const failing = createMemoryStore({ clock });
      await fill(failing, [group, release("rel-web", "p1"), release("rel-db", "p2")]);
      let isAway = true;
      await watch.stop();
      const list: ClusterStore["list"] = async (kind, options) => {
        if (isAway && kind.kind === "Deployment") throw new StoreError("unavailable", "away");
        return await failing.list(kind, options);
      };
      const away = new Proxy(failing, {
        get(target, key) {
          const value: unknown = key === "list" ? list : Reflect.get(target, key);
          return typeof value === "function" ? (value.bind(target) as unknown) : value;
        },
      });
      watch = new StoreClusterWatch({ store: away, clock, random: seededRandom(1), logger });
      await watch.start();
      await clock.advance(1_000);
      watch.current();
      const ours = (): unknown[] => refused().filter((line) => (line as unknown[])[1] === "unmatched");
      expect(watch.pending()).toEqual(["Deployment"]);
      expect(ours()).toEqual([]);
      isAway = false;
      await clock.advance(120_000);
      expect(declared()).toEqual(["rel-web -> rel-db"]);
      expect(ours()).toEqual([]);
    });
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
