import {
  createEventRecorder,
  KINDS,
  StoreError,
  type ClusterStore,
  type EventRecorder,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { boundStore } from "../testing/bound-store.ts";
import { clusterNode, linkOf, snapshotOf } from "../testing/snapshots.ts";
import { NetworkTopologyController } from "./controller.ts";
import { networkTopologySettings } from "./settings.ts";

const REF = { ...KINDS.networkTopology, namespace: "default", name: "nt-default" };
const USER_DEFINED = {
  name: "UserDefined",
  topologyList: [
    {
      topologyKey: "topology.kubernetes.io/zone",
      originList: [{ origin: "z1", costList: [{ destination: "z2", isAllowed: true, networkCost: 5 }] }],
    },
  ],
};

let clock: ManualClock;
let logger: MemoryLogger;
let store: ClusterStore;
let events: EventRecorder;
let registry: Registry;
let graph: ClusterGraphSnapshot | null;
let pods: KubernetesObject[];
let appGroups: KubernetesObject[] | null;
let isLeader: boolean;

beforeEach(() => {
  clock = new ManualClock();
  logger = new MemoryLogger();
  store = createMemoryStore({ clock });
  events = createEventRecorder({ store, component: "aggregator", clock, logger });
  registry = createRegistry();
  graph = graphOf({ "n1 n2": 4.2, "n1 n3": 38 });
  pods = [];
  appGroups = [];
  isLeader = true;
});

afterEach(async () => {
  await events.stop();
});

/** Three nodes: z1 and z2 in west, z3 in east. */
function graphOf(
  p90Ms: Readonly<Record<string, number>>,
  achieved: number | null = null,
): ClusterGraphSnapshot {
  const nodes = [
    clusterNode("n1", { region: "west", zone: "z1" }),
    clusterNode("n2", { region: "west", zone: "z2" }),
    clusterNode("n3", { region: "east", zone: "z3" }),
  ];
  const links = Object.entries(p90Ms).map(([pair, p90]) => {
    const [source = "", target = ""] = pair.split(" ");
    return linkOf(source, target, p90, {
      rttMs: { p50: p90, p90, p99: null, mean: p90, count: 30 },
      bandwidthBitsPerSecond: { capacity: achieved, achieved, available: null },
      ...(achieved === null ? {} : { bandwidthCapacityOrigin: "measured" as const }),
    });
  });
  return snapshotOf(nodes, links);
}

function controller(
  settings: Readonly<Record<string, unknown>> = {},
  through: ClusterStore = store,
): NetworkTopologyController {
  const { networkTopology: config } = loadSettings([networkTopologySettings], {
    env: {},
    file: { networkTopology: settings },
  });
  registry.clear();
  return new NetworkTopologyController({
    config,
    store: through,
    inputs: { graph: () => graph, pods: () => pods, appGroups: () => appGroups },
    leadership: { isLeader: () => isLeader },
    events,
    clock,
    logger,
    registry,
  });
}

const read = async (): Promise<KubernetesObject | null> => store.get(REF);
const weights = async (): Promise<{ name: string; topologyList: unknown[] }[]> =>
  ((await read())?.spec?.["weights"] ?? []) as { name: string; topologyList: unknown[] }[];
const netperf = async () => (await weights()).find(({ name }) => name === "NetperfCosts");

async function costOf(origin: string, destination: string): Promise<Record<string, unknown> | undefined> {
  const { topologyList = [] } = (await netperf()) ?? {};
  return (topologyList as { originList: { origin: string; costList: Record<string, unknown>[] }[] }[])
    .flatMap(({ originList }) => originList)
    .filter((entry) => entry.origin === origin)
    .flatMap(({ costList }) => costList)
    .find((entry) => entry["destination"] === destination);
}

const reasons = async (): Promise<unknown[]> => {
  await clock.advance(10_000);
  return (await store.list(KINDS.event)).items.map((event) => event["reason"]);
};

const labelled = (name: string, workload: string, node: string): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    namespace: "default",
    name,
    labels: {
      "appgroup.diktyo.x-k8s.io": "a1",
      "appgroup.diktyo.x-k8s.io.workload": workload,
    },
  },
  spec: { nodeName: node },
  status: { phase: "Running" },
});

const APP_GROUP: KubernetesObject = {
  ...KINDS.appGroup,
  metadata: { namespace: "default", name: "a1" },
  spec: {
    numMembers: 2,
    topologySortingAlgorithm: "KahnSort",
    workloads: [
      {
        workload: { kind: "Deployment", name: "P1-deployment", selector: "P1" },
        dependencies: [
          { workload: { kind: "Deployment", name: "P2-deployment", selector: "P2" }, minBandwidth: "100Mi" },
        ],
      },
      { workload: { kind: "Deployment", name: "P2-deployment", selector: "P2" } },
    ],
  },
};

describe("the NetworkTopology", () => {
  test("is created from the links in upstream's schema, with its scale, when there is none", async () => {
    await controller().check();
    const object = await read();
    expect(object?.spec).toEqual({
      configmapName: "netperf-metrics",
      weights: [
        {
          name: "NetperfCosts",
          topologyList: [
            {
              topologyKey: "topology.kubernetes.io/region",
              originList: [
                {
                  origin: "east",
                  costList: [{ destination: "west", networkCost: 38, bandwidthAllocated: "0" }],
                },
                {
                  origin: "west",
                  costList: [{ destination: "east", networkCost: 38, bandwidthAllocated: "0" }],
                },
              ],
            },
            {
              topologyKey: "topology.kubernetes.io/zone",
              originList: [
                { origin: "z1", costList: [{ destination: "z2", networkCost: 5, bandwidthAllocated: "0" }] },
                { origin: "z2", costList: [{ destination: "z1", networkCost: 5, bandwidthAllocated: "0" }] },
              ],
            },
          ],
        },
      ],
    });
    expect(object?.metadata.annotations?.["isochrone.dev/network-cost-scale"]).toBe("1");
    expect(object?.status).toEqual({ nodeCount: 3, weightCalculationTime: "2023-11-14T22:13:20Z" });
  });

  test("is not made while nothing is measured, nor by a replica that doesn't lead", async () => {
    graph = graphOf({});
    await controller().check();
    graph = graphOf({ "n1 n2": 4 });
    isLeader = false;
    await controller().check();
    expect(await read()).toBe(null);
  });

  test("keeps UserDefined and everything else of an object that is there", async () => {
    await store.create({
      ...KINDS.networkTopology,
      metadata: {
        namespace: "default",
        name: "nt-default",
        labels: { team: "net" },
        annotations: { mine: "1" },
      },
      spec: { configmapName: "netperfMetrics", weights: [USER_DEFINED] },
    });
    await controller().check();
    const object = await read();
    expect((await weights())[0]).toEqual(USER_DEFINED);
    expect(await costOf("z1", "z2")).toMatchObject({ networkCost: 5 });
    expect(object?.spec?.["configmapName"]).toBe("netperfMetrics");
    expect(object?.metadata.labels).toEqual({ team: "net" });
    expect(object?.metadata.annotations).toMatchObject({ mine: "1" });
  });

  test("is left alone while upstream's controller is to write it", async () => {
    const upstream = controller({ writer: "upstream" });
    await upstream.start();
    await clock.advance(120_000);
    await upstream.stop();
    expect(await read()).toBe(null);
  });

  test("counts in the unit that its annotation says", async () => {
    await store.create({
      ...KINDS.networkTopology,
      metadata: {
        namespace: "default",
        name: "nt-default",
        annotations: { "isochrone.dev/network-cost-scale": "0.1" },
      },
      spec: { configmapName: "x", weights: [] },
    });
    const one = controller();
    await one.check();
    expect(await costOf("z1", "z2")).toMatchObject({ networkCost: 42 });
    await store.patch(REF, { metadata: { annotations: { "isochrone.dev/network-cost-scale": "2" } } });
    await clock.advance(30_000);
    await one.check();
    expect(await costOf("z1", "z2")).toMatchObject({ networkCost: 3 });
  });

  test("is not written in a unit that can't be read, and says so", async () => {
    await store.create({
      ...KINDS.networkTopology,
      metadata: {
        namespace: "default",
        name: "nt-default",
        annotations: { "isochrone.dev/network-cost-scale": "fast" },
      },
      spec: { configmapName: "x", weights: [] },
    });
    const one = controller();
    await one.check();
    expect(one.fault).toBe("invalid_scale");
    expect(await netperf()).toBe(undefined);
    expect(await reasons()).toEqual(["InvalidCostScale"]);
  });
});

describe("writing", () => {
  test("jitter writes nothing, a change one time per interval", async () => {
    const one = controller();
    await one.check();
    const first = (await read())?.metadata.resourceVersion;
    for (const jittered of [4.9, 5.4, 3.6]) {
      await clock.advance(60_000);
      graph = graphOf({ "n1 n2": jittered, "n1 n3": 38 + jittered / 2 });
      await one.check();
    }
    expect((await read())?.metadata.resourceVersion).toBe(first);
    graph = graphOf({ "n1 n2": 12, "n1 n3": 38 });
    await one.check();
    const second = (await read())?.metadata.resourceVersion;
    expect(second).not.toBe(first);
    graph = graphOf({ "n1 n2": 30, "n1 n3": 38 });
    await clock.advance(29_000);
    await one.check();
    expect((await read())?.metadata.resourceVersion).toBe(second);
    // A new leader keeps the write interval.
    await controller().check();
    expect((await read())?.metadata.resourceVersion).toBe(second);
    await clock.advance(1_000);
    await one.check();
    expect(await costOf("z1", "z2")).toMatchObject({ networkCost: 30 });
  });

  test("pairs that fell silent stay for a time, after a restart too, and then go", async () => {
    await controller().check();
    graph = graphOf({ "n1 n2": 4.2 });
    const restarted = controller();
    await restarted.check();
    await clock.advance(899_000);
    await restarted.check();
    expect(await costOf("west", "east")).toMatchObject({ networkCost: 38 });
    await clock.advance(1_000);
    await restarted.check();
    expect(await costOf("west", "east")).toBe(undefined);
    expect(await costOf("z1", "z2")).toMatchObject({ networkCost: 5 });
  });

  test("what somebody else changed is reported and stays, until the mark is removed", async () => {
    const one = controller();
    await one.check();
    const [entry] = await weights();
    const text = JSON.stringify(entry).replaceAll('"networkCost":5', '"networkCost":7');
    await store.patch(REF, { spec: { weights: [JSON.parse(text)] } });
    const theirs = (await read())?.metadata.resourceVersion;
    for (let round = 0; round < 3; round++) {
      await clock.advance(60_000);
      await one.check();
    }
    expect(one.fault).toBe("changed_by_another");
    expect((await read())?.metadata.resourceVersion).toBe(theirs);
    expect(await reasons()).toEqual(["NetperfCostsChangedByAnother"]);
    expect(await registry.metrics()).toContain(
      'isochrone_network_topology_fault{reason="changed_by_another"} 1',
    );
    await store.patch(REF, { metadata: { annotations: { "isochrone.dev/network-costs-written": null } } });
    await one.check();
    expect(await costOf("z1", "z2")).toMatchObject({ networkCost: 5 });
    expect(one.fault).toBe(null);
  });

  test("a write in between is not undone: the next round begins anew", async () => {
    await controller().check();
    await clock.advance(60_000);
    graph = graphOf({ "n1 n2": 12, "n1 n3": 38 });
    const interfering: ClusterStore = {
      ...boundStore(store),
      async get(ref) {
        const object = await store.get(ref);
        await store.patch(REF, { metadata: { labels: { touched: String(clock.monotonic()) } } });
        return object;
      },
    };
    const one = controller({}, interfering);
    await one.check();
    expect(await costOf("z1", "z2")).toMatchObject({ networkCost: 5 });
    expect(await registry.metrics()).toContain(
      'isochrone_network_topology_writes_total{result="conflict"} 1',
    );
  });

  test("a kind that isn't installed is a fault, and no crash", async () => {
    const without: ClusterStore = {
      ...boundStore(store),
      get: async () => {
        throw new StoreError("not_found", "the server could not find the requested resource");
      },
    };
    const one = controller({}, without);
    await one.check();
    expect(one.fault).toBe("unavailable");
  });
});

describe("bandwidth", () => {
  test("shows what bursts achieved, and what placed pods claim, worked out anew after a restart", async () => {
    graph = graphOf({ "n1 n2": 4.2, "n1 n3": 38 }, 1_234_567_890);
    appGroups = [APP_GROUP];
    pods = [labelled("a", "P1", "n1"), labelled("b", "P2", "n2"), labelled("c", "P2", "n3")];
    await controller().check();
    expect(await costOf("z1", "z2")).toEqual({
      destination: "z2",
      networkCost: 5,
      bandwidthCapacity: "1234M",
      bandwidthAllocated: "104857600",
    });
    expect(await costOf("west", "east")).toMatchObject({ bandwidthAllocated: "104857600" });
    // Only the workload with the dependency claims bandwidth, so the reverse direction has none.
    expect(await costOf("z2", "z1")).toMatchObject({ bandwidthAllocated: "0" });
    pods = [...pods, labelled("d", "P1", "n1")];
    await clock.advance(30_000);
    await controller().check();
    expect(await costOf("z1", "z2")).toMatchObject({ bandwidthAllocated: "209715200" });
    pods = [];
    await clock.advance(30_000);
    await controller().check();
    expect(await costOf("z1", "z2")).toMatchObject({ bandwidthAllocated: "0" });
  });

  test("is not said to be free while the AppGroups aren't known", async () => {
    appGroups = [APP_GROUP];
    pods = [labelled("a", "P1", "n1"), labelled("b", "P2", "n2")];
    await controller().check();
    appGroups = null;
    graph = graphOf({ "n1 n2": 50, "n1 n3": 38 });
    await clock.advance(30_000);
    await controller().check();
    expect(await costOf("z1", "z2")).toMatchObject({ networkCost: 50, bandwidthAllocated: "104857600" });
  });
});
