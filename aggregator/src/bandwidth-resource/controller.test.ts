import {
  conditionsOf,
  createEventRecorder,
  KINDS,
  nodeView,
  type ClusterStore,
  type EventRecorder,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { boundStore } from "../testing/bound-store.ts";
import { nodeObject } from "../testing/cluster.ts";
import { linkOf, snapshotOf } from "../testing/snapshots.ts";
import { BandwidthResource } from "./controller.ts";
import {
  ADVERTISED_CONDITION,
  advertisementOf,
  CAPACITY_ANNOTATION,
  declaredBandwidth,
  trimmedWithAdvertisement,
} from "./node-status.ts";
import { bandwidthResourceSettings } from "./settings.ts";

const RESOURCE = "network.aware.com/bandwidth";

let clock: ManualClock;
let logger: MemoryLogger;
let store: ClusterStore;
let events: EventRecorder;
let graph: ClusterGraphSnapshot;
let isLeader: boolean;

beforeEach(async () => {
  clock = new ManualClock();
  logger = new MemoryLogger();
  store = createMemoryStore({ clock });
  events = createEventRecorder({ store, component: "aggregator", clock, logger });
  graph = burst(1_234_567_890);
  isLeader = true;
  for (const name of ["n1", "n2", "n3"]) await store.create(nodeObject(name, "z1"));
});

afterEach(async () => {
  await events.stop();
});

function burst(achieved: number): ClusterGraphSnapshot {
  const link = linkOf("n1", "n2", 1, {
    bandwidthBitsPerSecond: { capacity: achieved, achieved, available: null },
    bandwidthCapacityOrigin: "measured",
  });
  return snapshotOf(["n1", "n2", "n3"], [link]);
}

async function check(
  settings: Readonly<Record<string, unknown>>,
  nodes?: readonly KubernetesObject[],
  through: ClusterStore = store,
): Promise<void> {
  const { bandwidthResource: config } = loadSettings([bandwidthResourceSettings], {
    env: {},
    file: { bandwidthResource: settings },
  });
  const listed = nodes ?? (await store.list(KINDS.node)).items;
  const one = new BandwidthResource({
    config,
    resource: RESOURCE,
    store: through,
    graph: () => graph,
    nodes: () => listed,
    leadership: { isLeader: () => isLeader },
    events,
    clock,
    logger,
    registry: createRegistry(),
  });
  await one.check();
}

const node = async (name: string): Promise<KubernetesObject> => (await store.get({ ...KINDS.node, name }))!;

async function amounts(name: string): Promise<readonly unknown[]> {
  const { status = {} } = await node(name);
  return ["capacity", "allocatable"].map((field) => (status[field] as Record<string, unknown>)[RESOURCE]);
}

const declare = async (name: string, capacity: string | null): Promise<unknown> =>
  store.patch({ ...KINDS.node, name }, { metadata: { annotations: { [CAPACITY_ANNOTATION]: capacity } } });

describe("nodes' bandwidth", () => {
  test("is advertised as measured, else as declared, and otherwise not at all", async () => {
    await declare("n3", "10G");
    await store.create(nodeObject("n4", "z1"));
    await check({ advertise: "measured" });
    expect(await amounts("n1")).toEqual(["1234000000", "1234000000"]);
    expect(await amounts("n3")).toEqual(["10000000000", "10000000000"]);
    expect(await amounts("n4")).toEqual([undefined, undefined]);
    const { status } = await node("n1");
    expect(status?.["conditions"]).toContainEqual({
      type: ADVERTISED_CONDITION,
      status: "True",
      reason: "Measured",
      message: `1234000000 bit/s as ${RESOURCE}`,
      lastTransitionTime: "2023-11-14T22:13:20Z",
    });
    expect(nodeView(await node("n1")).ready).toBe(true);
  });

  test("is not written again while nothing much changes, and not at all by a replica that doesn't lead", async () => {
    await check({ advertise: "measured" });
    const before = (await node("n1")).metadata.resourceVersion;
    graph = burst(1_300_000_000);
    await check({ advertise: "measured" });
    graph = burst(9_000_000_000);
    isLeader = false;
    await check({ advertise: "measured" });
    expect((await node("n1")).metadata.resourceVersion).toBe(before);
    isLeader = true;
    await check({ advertise: "measured" });
    expect(await amounts("n1")).toEqual(["9000000000", "9000000000"]);
  });

  test("is taken back when switched off, with the condition, and no other one's is", async () => {
    await store.create(nodeObject("foreign", "z1", { [RESOURCE]: "10000000000" }));
    await check({ advertise: "measured" });
    await check({ advertise: "off" });
    expect(await amounts("n1")).toEqual([undefined, undefined]);
    expect((await node("n1")).status?.["conditions"]).toEqual([{ type: "Ready", status: "True" }]);
    expect(await amounts("foreign")).toEqual(["10000000000", undefined]);
  });

  test("that was measured here is not read as a declaration: the figure would confirm itself for ever", async () => {
    await check({ advertise: "measured" });
    expect(declaredBandwidth(await node("n1"), RESOURCE)).toBe(null);
    await declare("n1", "2G");
    expect(declaredBandwidth(await node("n1"), RESOURCE)).toBe(2e9);
    expect(declaredBandwidth(nodeObject("x", "z1", { [RESOURCE]: "10G" }), RESOURCE)).toBe(10e9);
  });

  test("that somebody else changed is reported once and left", async () => {
    await check({ advertise: "measured" });
    await store.patch(
      { ...KINDS.node, name: "n1" },
      { status: { capacity: { [RESOURCE]: "5" } } },
      { subresource: "status" },
    );
    await check({ advertise: "measured" });
    expect((await amounts("n1"))[0]).toBe("5");
    await clock.advance(10_000);
    const { items } = await store.list(KINDS.event);
    expect(items.map((event) => event["reason"])).toEqual(["BandwidthChangedByAnother"]);
  });

  test("is judged by the whole node as it is, not by what was followed of it a little before", async () => {
    const listed = (await store.list(KINDS.node)).items.map(trimmedWithAdvertisement);
    const pressure = { type: "MemoryPressure", status: "False" };
    const ready = { type: "Ready", status: "True" };
    const conditions = [ready, pressure];
    const ref = { ...KINDS.node, name: "n1" };
    await store.patch(ref, { status: { conditions } }, { subresource: "status" });
    await store.patch(
      { ...KINDS.node, name: "n2" },
      { status: { capacity: { [RESOURCE]: "7G" } } },
      { subresource: "status" },
    );
    await check({ advertise: "measured" }, listed);
    expect(await amounts("n1")).toEqual(["1234000000", "1234000000"]);
    expect(conditionsOf(await node("n1")).map(({ type }) => type)).toEqual([
      "Ready",
      "MemoryPressure",
      ADVERTISED_CONDITION,
    ]);
    expect(await amounts("n2")).toEqual(["7G", undefined]);
    const followed = trimmedWithAdvertisement(await node("n1"));
    expect(advertisementOf(followed)?.bitsPerSecond).toBe(1_234_000_000);
  });

  test("is written only to the node as it was read", async () => {
    const raced: ClusterStore = {
      ...boundStore(store),
      async get(ref) {
        const object = await store.get(ref);
        if (ref.name === "n1") await store.patch(ref, { metadata: { labels: { touched: "yes" } } });
        return object;
      },
    };
    await check({ advertise: "measured" }, undefined, raced);
    expect(await amounts("n1")).toEqual([undefined, undefined]);
    expect(await amounts("n2")).toEqual(["1234000000", "1234000000"]);
  });

  test("is written to a few nodes at a time", async () => {
    await check({ advertise: "measured", maxWritesPerCheck: 1 });
    expect([await amounts("n1"), await amounts("n2")].flat().filter(Boolean)).toHaveLength(2);
    await check({ advertise: "measured", maxWritesPerCheck: 1 });
    expect([await amounts("n1"), await amounts("n2")].flat().filter(Boolean)).toHaveLength(4);
  });
});
