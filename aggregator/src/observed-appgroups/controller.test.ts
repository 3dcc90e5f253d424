import {
  createEventRecorder,
  KINDS,
  type ClusterStore,
  type EventRecorder,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StoreClusterWatch } from "../adapters/store-cluster-watch.ts";
import { deploymentObject, fill, nodeObject, podObject } from "../testing/cluster.ts";
import { ObservedAppGroups } from "./controller.ts";
import { appGroupsSettings } from "./settings.ts";

const REF = { ...KINDS.appGroup, namespace: "shop", name: "orders" };
const ASK = { "isochrone.dev/appgroup": "observe" };

let clock: ManualClock;
let logger: MemoryLogger;
let store: ClusterStore;
let events: EventRecorder;
let watch: StoreClusterWatch;
let isLeader: boolean;
let isListed: boolean;
let isDrawn: boolean;
let bytesPerSecond: number;
let groups: ObservedAppGroups;

beforeEach(async () => {
  clock = new ManualClock();
  logger = new MemoryLogger();
  store = createMemoryStore({ clock });
  events = createEventRecorder({ store, component: "aggregator", clock, logger });
  watch = new StoreClusterWatch({ store, clock, random: seededRandom(1), logger });
  isLeader = true;
  isListed = true;
  isDrawn = true;
  bytesPerSecond = 100_000;
  await fill(store, [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
    nodeObject("n1", "z1"),
    deploymentObject("shop", "web", "orders"),
    deploymentObject("shop", "db", "orders"),
    podObject("shop", "lonely", "n1"),
  ]);
  await watch.start();
  groups = start();
  await groups.start();
  await settle();
});

afterEach(async () => {
  await groups.stop();
  await watch.stop();
  await events.stop();
});

function start(settings: Readonly<Record<string, unknown>> = {}): ObservedAppGroups {
  const { appGroups: config } = loadSettings([appGroupsSettings], {
    env: {},
    file: { appGroups: { windowMs: 600_000, ...settings } },
  });
  return new ObservedAppGroups({
    config,
    store,
    sources: {
      workflows,
      cluster: () => watch.current(),
      workloadObjects: () => (isListed ? watch.workloadObjects() : []),
      isListed: () => isListed,
      appGroups: () => watch.appGroups(),
    },
    leadership: { isLeader: () => isLeader },
    events,
    clock,
    random: seededRandom(2),
    logger,
    registry: createRegistry(),
  });
}

/** The workflow's workloads while they exist; web calls db. */
function workflows(): ReadonlyMap<string, WorkflowGraphSnapshot> {
  if (!isDrawn) return new Map();
  const workloads = watch.current().workloads.map(({ name, kind, namespace }) => ({
    name,
    kind,
    namespace,
    cpuMillicores: null,
    memoryBytes: null,
    pods: [],
  }));
  const channel = {
    source: "web",
    target: "db",
    bytesPerSecond,
    requestsPerSecond: 1,
    errorRatio: null,
    priority: null,
    maxNetworkCost: null,
    minBandwidthBitsPerSecond: null,
    origin: "observed" as const,
    ageSeconds: 1,
  };
  const stamp = { version: 1, observedAt: "2026-01-01T00:00:00.000Z" };
  const graph = { ...stamp, namespace: "shop", name: "orders", workloads, channels: [channel] };
  const lone = { ...stamp, namespace: "shop", name: "shop", workloads: [], channels: [] };
  return new Map([
    ["shop/orders", graph],
    ["shop/shop", lone],
  ]);
}

async function settle(): Promise<void> {
  await clock.advance(0);
  await clock.advance(30_000);
}

const read = async (): Promise<KubernetesObject | null> => store.get(REF);
const ask = async (
  annotations: Record<string, string | null>,
  kind: "namespace" | "deployment" = "namespace",
) => {
  const ref =
    kind === "namespace"
      ? { ...KINDS.namespace, name: "shop" }
      : { ...KINDS.deployment, namespace: "shop", name: "db" };
  await store.patch(ref, { metadata: { annotations } });
  await settle();
};

describe("an AppGroup of an observed workflow", () => {
  test("comes when its namespace asks, in upstream's schema", async () => {
    expect(await read()).toBe(null);
    await ask(ASK);
    const reference = (name: string) => ({
      kind: "Deployment",
      apiVersion: "apps/v1",
      namespace: "shop",
      name,
      selector: name,
    });
    const object = await read();
    expect(object?.spec).toEqual({
      numMembers: 2,
      topologySortingAlgorithm: "ReverseKahn",
      workloads: [
        { workload: reference("db") },
        {
          workload: reference("web"),
          dependencies: [{ workload: reference("db"), minBandwidth: "1M", maxNetworkCost: 10_000 }],
        },
      ],
    });
    expect(object?.status).toBe(undefined);
    expect((await store.list(KINDS.appGroup)).items).toHaveLength(1);
  });

  test("comes when a workload asks, with the pods' own selector", async () => {
    await store.patch(
      { ...KINDS.deployment, namespace: "shop", name: "web" },
      { spec: { template: { metadata: { labels: { "appgroup.diktyo.x-k8s.io.workload": "P1" } } } } },
    );
    await ask(ASK, "deployment");
    const workloads = (await read())?.spec?.["workloads"] as { workload: Record<string, string> }[];
    expect(workloads.map(({ workload }) => workload["selector"])).toEqual(["db", "P1"]);
  });

  test("isn't rewritten while it fits, is when it doesn't, and keeps a status that others write", async () => {
    await ask(ASK);
    await store.patch(REF, { status: { runningWorkloads: 2 } });
    const { resourceVersion } = (await read())!.metadata;
    bytesPerSecond = 90_000;
    await settle();
    await settle();
    expect((await read())?.metadata.resourceVersion).toBe(resourceVersion);
    bytesPerSecond = 200_000;
    await settle();
    expect(JSON.stringify((await read())?.spec)).toContain('"minBandwidth":"2M"');
    expect((await read())?.status).toEqual({ runningWorkloads: 2 });
  });

  test("goes when nobody asks any more", async () => {
    await ask(ASK);
    isLeader = false;
    await ask({ "isochrone.dev/appgroup": null });
    expect(await read()).not.toBe(null);
    isLeader = true;
    await settle();
    expect(await read()).toBe(null);
  });

  test("stays while a new leader hasn't listed the workloads that ask, and while no graph shows them yet", async () => {
    await ask(ASK, "deployment");
    const { uid } = (await read())!.metadata;
    isListed = false;
    await settle();
    isListed = true;
    isDrawn = false;
    await settle();
    isDrawn = true;
    await settle();
    expect((await read())?.metadata.uid).toBe(uid);
    await ask({ "isochrone.dev/appgroup": null }, "deployment");
    expect(await read()).toBe(null);
  });

  test("goes when it is switched off", async () => {
    await ask(ASK);
    await groups.stop();
    groups = start({ observe: false });
    await groups.start();
    await settle();
    expect(await read()).toBe(null);
  });

  test("never takes the place of one that somebody made", async () => {
    const theirs = {
      ...KINDS.appGroup,
      metadata: { namespace: "shop", name: "orders" },
      spec: { numMembers: 1 },
    };
    await store.create(theirs);
    await ask(ASK);
    expect((await read())?.spec).toEqual({ numMembers: 1 });
    await ask({ "isochrone.dev/appgroup": null });
    expect(await read()).not.toBe(null);
  });

  test("stays as somebody else changed it, and says so once", async () => {
    await ask(ASK);
    await store.patch(REF, { spec: { topologySortingAlgorithm: "KahnSort" } });
    await settle();
    await settle();
    expect((await read())?.spec?.["topologySortingAlgorithm"]).toBe("KahnSort");
    const { items } = await store.list(KINDS.event);
    expect(items.map((event) => [event["reason"], event["series"]])).toEqual([
      ["SpecChangedByAnother", undefined],
    ]);
    await ask({ "isochrone.dev/appgroup": null });
    expect(await read()).not.toBe(null);
  });

  test("is no declaration to the graph that it came from", async () => {
    await ask(ASK);
    await settle();
    expect(watch.appGroups()).toHaveLength(1);
    expect(watch.current().declared).toEqual([]);
  });

  test("isn't asked for by words that nobody knows", async () => {
    await ask({ "isochrone.dev/appgroup": "please" });
    expect(await read()).toBe(null);
    expect(logger.lines.some(({ event }) => event === "annotation not understood")).toBe(true);
  });
});
