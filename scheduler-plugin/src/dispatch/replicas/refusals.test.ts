import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ReplicaRig } from "../../testing/replica-rig.ts";

let rig: ReplicaRig;

beforeEach(() => {
  rig = new ReplicaRig();
});

afterEach(() => rig.stop());

const PROPOSAL = { "isochrone.dev/replicas": "proposal" };
const SCALE = { "isochrone.dev/replicas": "scale" };
const COOL_DOWN = 5;

describe("what can't be worked out", () => {
  const refusal = async (name = "db"): Promise<string | undefined> => (await rig.row(name)).refused?.reason;

  test.each([
    ["annotation", { "isochrone.dev/replicas": "Scale" }],
    ["annotation", { ...SCALE, "isochrone.dev/capacity": "0" }],
    ["annotation", { ...SCALE, "isochrone.dev/capacity": "NaN" }],
    ["annotation", { ...SCALE, "isochrone.dev/deadline": "-5ms" }],
  ])("is refused: %s, %j", async (reason, annotations) => {
    await rig.app(["w1"], annotations);
    rig.rates = { db: { west: 250 } };
    await rig.start();
    await rig.frames(COOL_DOWN);
    expect(await refusal()).toBe(reason);
    expect(rig.writes).toEqual([]);
    expect(await rig.events()).toHaveLength(1);
  });

  test("is left as it is: without capacity, endpoints, requests, replicas; of names that differ in case", async () => {
    await rig.app(["w1"], SCALE, "unsaid");
    await rig.annotate({ "isochrone.dev/capacity": null }, "unsaid");
    await rig.app([], SCALE, "empty");
    await rig.app(["w1"], SCALE, "silent");
    await rig.app(["w1"], SCALE, "unheard");
    await rig.app(["w1"], SCALE, "cased");
    rig.rates = {
      unsaid: { west: 250 },
      empty: { west: 250 },
      silent: { west: 0, east: 0 },
      cased: { west: 250, West: 3 },
    };
    await rig.start();
    await rig.frames(COOL_DOWN);
    expect(await Promise.all(["unsaid", "empty", "silent", "unheard", "cased"].map(refusal))).toEqual([
      "no_capacity",
      "no_endpoints",
      "no_requests",
      "no_requests",
      "zone_case",
    ]);
    expect(rig.writes).toEqual([]);
    expect(await rig.replicas("empty")).toBe(0);
  });

  test("is left as it is: without zones, and with a replica where there is none", async () => {
    await rig.app(["w1", "e1"], SCALE);
    rig.rates = { db: { west: 250 } };
    rig.graph = {
      ...rig.graph,
      nodes: rig.graph.nodes.map((each) => (each.zone === "east" ? { ...each, zone: null } : each)),
    };
    await rig.start();
    await rig.frames(COOL_DOWN);
    expect(await refusal()).toBe("missing_zone");
    rig.graph = { ...rig.graph, nodes: rig.graph.nodes.map((each) => ({ ...each, zone: null })) };
    await rig.frames(1);
    expect(await refusal()).toBe("no_zones");
    expect(rig.writes).toEqual([]);
  });

  test("is no reason against what fits: a full zone gets nothing, and pods without requests fit anywhere", async () => {
    await rig.app(["w1", "e1"], PROPOSAL);
    rig.graph = {
      ...rig.graph,
      nodes: rig.graph.nodes.map((each) =>
        each.zone === "west" ? { ...each, allocatableCpuMillicores: 150 } : each,
      ),
    };
    rig.rates = { db: { west: 450, east: 20 } };
    await rig.start();
    await rig.frames(1);
    expect((await rig.wanted()).west).toBeGreaterThan(1);
    await rig.addPod("w2");
    await rig.frames(1);
    expect((await rig.wanted()).west).toBe(2);
  });
});
