// Against the real control plane: test/integration/zone-weights.test.ts.
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { looseList } from "@isochrone/primitives";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DispatchRig, refOf, ROUND_MS, service, slice } from "../testing/dispatch-rig.ts";

const HINTED = service({ "isochrone.dev/dispatch": "hints" });

let rig: DispatchRig;

beforeEach(() => {
  rig = new DispatchRig();
});

afterEach(() => rig.stop());

describe("hints", () => {
  test("come step by step, stand when Kubernetes writes the slice again, and are on new slices", async () => {
    await rig.store.create(HINTED);
    await rig.store.create(slice("db-1", ["west", "west", "east", "east", "north", "north"]));
    rig.start();
    await rig.rounds(1);
    // Starts even and moves a tenth per round.
    const west = (await rig.planOf("db-1"))!.weights.get("west");
    expect(west!.get("east")! + west!.get("north")!).toBeCloseTo(2 / 3 - 0.1, 2);
    await rig.rounds(9);
    expect(await rig.hints("db-1")).toEqual(["west", "west", "east", "east", "north", "north"]);
    expect(await rig.metric("steady")).toBe(1);

    const bare = (await rig.store.get({ ...KINDS.endpointSlice, namespace: "shop", name: "db-1" }))!;
    const endpoints = looseList(bare.endpoints).map((endpoint) => ({ ...endpoint, hints: undefined }));
    await rig.asked.update({ ...bare, endpoints });
    expect(await rig.hints("db-1")).toEqual(["west", "west", "east", "east", "north", "north"]);
    await rig.clock.advance(0);
    await rig.asked.create(slice("db-22", ["west", "east"]));
    expect(await rig.hints("db-22")).toEqual(["west", "east"]);
    expect(await rig.planOf("db-22")).toEqual(await rig.planOf("db-1"));
  });

  test("let a hot zone spill to the nearest one, and take requests back when it has cooled", async () => {
    rig.rates = { west: 200, east: 50, north: 50 };
    await rig.store.create(HINTED);
    const zones = ["west", "east", "north"].flatMap((zone) => Array.from({ length: 10 }, () => zone));
    await rig.store.create(slice("db-1", zones));
    rig.start();
    await rig.rounds(12);
    const spilling = (await rig.hints("db-1")).filter((each) => each === "east west" || each === "west");
    expect(spilling.length).toBeGreaterThan(10);
    expect((await rig.hints("db-1")).slice(20).every((each) => each === "north")).toBe(true);
    rig.rates = { west: 60, east: 60, north: 60 };
    await rig.rounds(12);
    expect(await rig.hints("db-1")).toEqual(zones);
  });

  test("write nothing while nothing changes", async () => {
    await rig.store.create(HINTED);
    await rig.store.create(slice("db-1", ["west", "east", "north"]));
    rig.start();
    await rig.rounds(12);
    rig.writes = [];
    rig.rates = { west: 61, east: 59, north: 60 };
    await rig.rounds(5);
    expect(rig.writes).toEqual([]);
  });

  test("are taken back when the demand is stale, the annotation goes, or the Service asks for advice", async () => {
    await rig.store.create(HINTED);
    await rig.store.create(slice("db-1", ["west", "east", "north"]));
    rig.start();
    await rig.rounds(2);
    expect(await rig.planOf("db-1")).not.toBeNull();
    // The version no longer changes: the graph's producer is gone.
    await rig.clock.advance(5 * ROUND_MS);
    expect(await rig.hints("db-1")).toEqual(["", "", ""]);
    expect(await rig.planOf("db-1")).toBeNull();
    expect(rig.events.map(({ reason }) => reason)).toEqual(["ZoneWeightsTakenBack"]);
    expect(await rig.metric("stale")).toBe(1);

    await rig.rounds(2);
    expect(await rig.planOf("db-1")).not.toBeNull();
    await rig.store.patch(refOf(HINTED), {
      metadata: { annotations: { "isochrone.dev/dispatch": "advise" } },
    });
    await rig.rounds(1);
    expect(await rig.hints("db-1")).toEqual(["", "", ""]);
  });

  test("stay as they are without requests or endpoints", async () => {
    await rig.store.create(HINTED);
    await rig.store.create(slice("db-1", ["west", "east", "north"]));
    rig.start();
    await rig.rounds(12);
    rig.writes = [];
    rig.rates = {};
    await rig.rounds(3);
    expect([await rig.metric("idle"), rig.writes]).toEqual([1, []]);
    expect(await rig.hints("db-1")).toEqual(["west", "east", "north"]);
  });

  test("are known to be missing where the webhook isn't rig.asked, and are there once it is", async () => {
    rig.isWebhookThere = false;
    await rig.store.create(HINTED);
    await rig.store.create(slice("db-1", ["west", "east", "north"]));
    rig.start();
    await rig.rounds(3);
    expect(await rig.hints("db-1")).toEqual(["", "", ""]);
    expect(rig.events[0]!.note).toContain("the webhook isn't asked");
    rig.isWebhookThere = true;
    await rig.rounds(10);
    expect(await rig.hints("db-1")).toEqual(["west", "east", "north"]);
    expect(await rig.metric("steady")).toBe(1);
  });

  const zones = Array.from({ length: 9 }, (_, i) => `z${i}`);
  test.each<[string, KubernetesObject, KubernetesObject, string]>([
    [
      "an unknown lever",
      service({ "isochrone.dev/dispatch": "dice" }),
      slice("db-1", ["west"]),
      "one of advise",
    ],
    [
      "a share that can't be",
      service({ "isochrone.dev/dispatch": "hints", "isochrone.dev/min-local-share": "1.5" }),
      slice("db-1", ["west"]),
      "got 1.5",
    ],
    [
      "a capacity of 0",
      service({ "isochrone.dev/dispatch": "hints", "isochrone.dev/capacity": "0" }),
      slice("db-1", ["west"]),
      "above 0",
    ],
    [
      "a headless Service",
      service({ "isochrone.dev/dispatch": "hints" }, { clusterIP: "None" }),
      slice("db-1", ["west"]),
      "headless",
    ],
    [
      "Kubernetes' own topology-aware hints",
      service({ "isochrone.dev/dispatch": "hints", "service.kubernetes.io/topology-mode": "Auto" }),
      slice("db-1", ["west"]),
      "is Auto",
    ],
    [
      "slices of another controller",
      HINTED,
      slice("db-1", ["west"], { "endpointslice.kubernetes.io/managed-by": "mine" }),
      "another controller",
    ],
    ["an endpoint without a zone", HINTED, slice("db-1", ["west", null]), "topology.kubernetes.io/zone"],
    ["nine zones", HINTED, slice("db-1", zones), "at most 8 zones"],
    ["zones that differ in case", HINTED, slice("db-1", ["West", "east"]), "differ in case"],
  ])("are refused, with an Event, for %s", async (_, asking, slices, note) => {
    await rig.store.create(asking);
    await rig.store.create(slices);
    rig.start();
    await rig.rounds(3);
    expect(rig.events).toMatchObject([{ name: "db", reason: "ZoneWeightsRefused" }]);
    expect(rig.events[0]!.note).toContain(note);
    expect([await rig.planOf("db-1"), rig.writes, await rig.metric("refused")]).toEqual([null, [], 1]);
  });

  test("are refused where they are no lever", async () => {
    await rig.store.create(HINTED);
    await rig.store.create(slice("db-1", ["west"]));
    rig.start(["istio"]);
    await rig.rounds(2);
    expect(rig.events[0]!.note).toContain("dispatch.levers");
    expect(rig.writes).toEqual([]);
  });
});
