import { KINDS } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DispatchRig, refOf, ROUND_MS, service, slice } from "../testing/dispatch-rig.ts";
import { distributeOf } from "./objects/destination-rule.ts";

let rig: DispatchRig;

beforeEach(() => {
  rig = new DispatchRig();
});

afterEach(() => rig.stop());

test("advice writes nothing, no Event either", async () => {
  await rig.store.create(service({ "isochrone.dev/dispatch": "advise" }));
  await rig.store.create(slice("db-1", ["west", "east", "north"]));
  rig.start();
  await rig.rounds(5);
  await rig.clock.advance(10 * ROUND_MS);
  expect([rig.writes, rig.events]).toEqual([[], []]);
});

describe("a DestinationRule", () => {
  const ISTIO = service({ "isochrone.dev/dispatch": "istio" });
  const RULE = { ...KINDS.destinationRule, namespace: "shop", name: "isochrone-db" };
  const distribute = async () => {
    const rule = await rig.store.get(RULE);
    return rule === null ? [] : distributeOf(rule).map(({ from, to }) => ({ from, to: looseFields(to) }));
  };

  test("has shares of localities that add up to 100, goes on from them, and goes with the annotation", async () => {
    rig.rates = { west: 240, east: 30, north: 30 };
    await rig.store.create(ISTIO);
    await rig.store.create(slice("db-1", ["west", "east", "north"]));
    rig.start();
    await rig.rounds(12);
    const found = await distribute();
    expect(found.map(({ from }) => from)).toEqual(["r/east/*", "r/north/*", "r/west/*"]);
    for (const { to } of found)
      expect(Object.values(to).reduce<number>((sum, each) => sum + Number(each), 0)).toBe(100);
    expect(found[0]!.to["r/east/*"]).toBeGreaterThan(90);
    expect(found[2]!.to["r/west/*"]).toBeLessThan(60);
    rig.writes = [];
    await rig.rounds(2);
    expect(rig.writes).toEqual([]);
    await rig.store.patch(refOf(ISTIO), { metadata: { annotations: { "isochrone.dev/dispatch": null } } });
    await rig.rounds(1);
    expect(await rig.store.get(RULE)).toBeNull();
  });

  test("is never made beside somebody's, whatever its host is called", async () => {
    await rig.store.create(ISTIO);
    await rig.store.create(slice("db-1", ["west"]));
    for (const host of ["db", "db.shop.svc.cluster.local", "*.shop.svc.cluster.local"]) {
      const theirs = {
        ...KINDS.destinationRule,
        metadata: { namespace: "shop", name: "theirs" },
        spec: { host },
      };
      await rig.store.create(theirs);
      rig.start();
      await rig.rounds(2);
      expect(rig.events.at(-1)!.note).toContain("DestinationRule shop/theirs");
      expect(rig.writes).toEqual([]);
      await rig.stop();
      await rig.store.delete(refOf(theirs));
    }
    rig.start();
    await rig.rounds(1);
    expect(rig.writes).toEqual(["DestinationRule isochrone-db"]);
  });

  test("goes when somebody makes one for the same host", async () => {
    await rig.store.create(ISTIO);
    await rig.store.create(slice("db-1", ["west"]));
    rig.start();
    await rig.rounds(1);
    expect(await rig.store.get(RULE)).not.toBeNull();
    await rig.store.create({
      ...KINDS.destinationRule,
      metadata: { namespace: "shop", name: "theirs" },
      spec: { host: "db" },
    });
    await rig.rounds(1);
    expect(await rig.store.get(RULE)).toBeNull();
    expect(rig.events.at(-1)!.reason).toBe("ZoneWeightsRefused");
  });

  test("needs regions", async () => {
    rig.graph = { ...rig.graph, nodes: rig.graph.nodes.map((each) => ({ ...each, region: null })) };
    await rig.store.create(ISTIO);
    await rig.store.create(slice("db-1", ["west"]));
    rig.start();
    await rig.rounds(2);
    expect(rig.events[0]!.note).toContain("topology.kubernetes.io/region");
    expect(rig.writes).toEqual([]);
  });
});
