import { KINDS, StoreError, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { beforeEach, describe, expect, test } from "vitest";
import type { DeclaredCosts } from "@isochrone/topology";
import { pollDeclaredCosts } from "./declared-costs.ts";
import type { PolledObject } from "./polled-object.ts";
import { networkTopologySettings } from "./settings.ts";

const REF = { ...KINDS.networkTopology, namespace: "default", name: "nt-default" };

function topology(cost: unknown, annotations: Record<string, string> = {}): KubernetesObject {
  const costList = [
    { destination: "z2", networkCost: cost },
    { destination: "z3", networkCost: 9 },
  ];
  const topologyList = [
    { topologyKey: "topology.kubernetes.io/zone", originList: [{ origin: "z1", costList }] },
  ];
  return {
    ...KINDS.networkTopology,
    metadata: { namespace: REF.namespace, name: REF.name, annotations },
    spec: { configmapName: "netperf-metrics", weights: [{ name: "UserDefined", topologyList }] },
  };
}

const pairs = (cost: number) => [
  { from: "z1", to: "z2", cost },
  { from: "z1", to: "z3", cost: 9 },
];

let clock: ManualClock;
let logger: MemoryLogger;
let store: ClusterStore;
let failure: Error | null;

beforeEach(() => {
  clock = new ManualClock();
  logger = new MemoryLogger();
  store = createMemoryStore({ clock });
  failure = null;
});

/** `declaredWeights` undefined: the default. */
function readerOf(declaredWeights?: string, costUnitMs = 1): PolledObject<DeclaredCosts | null> | null {
  const { networkTopology: config } = loadSettings([networkTopologySettings], {
    env: {},
    file: { networkTopology: { ...(declaredWeights === undefined ? {} : { declaredWeights }), costUnitMs } },
  });
  return pollDeclaredCosts({
    config,
    store: { get: (ref) => (failure === null ? store.get(ref) : Promise.reject(failure)) },
    clock,
    logger,
    registry: createRegistry(),
  });
}

describe("declared costs", () => {
  test("are those that upstream's plugin reads by default, and a NetworkTopology without them is no fault", async () => {
    const reader = readerOf()!;
    await store.apply(topology(5), { fieldManager: "user" });
    await reader.read();
    expect(reader.current()?.zones).toEqual(pairs(5));
    const bare = { ...topology(5), spec: { configmapName: "netperf-metrics", weights: [] } };
    await store.apply(bare, { fieldManager: "user" });
    await reader.read();
    expect(reader.current()).toBeNull();
    expect(logger.lines.filter(({ level }) => level === "warn")).toEqual([]);
  });

  test("are not read where the setting says none", () => {
    expect(readerOf("none")).toBeNull();
  });

  test("are those of the weights that are named, and follow the object", async () => {
    const reader = readerOf("UserDefined")!;
    expect(reader.wasRead).toBe(false);
    await reader.read();
    expect([reader.wasRead, reader.current()]).toEqual([true, null]);
    await store.apply(topology(5), { fieldManager: "user" });
    await reader.read();
    const source = "NetworkTopology default/nt-default, UserDefined";
    expect(reader.current()).toEqual({ source, unitMs: 1, zones: pairs(5), regions: [] });
    await store.apply(topology(6), { fieldManager: "user" });
    await reader.read();
    expect(reader.current()?.zones).toEqual(pairs(6));
    await store.delete(REF);
    await reader.read();
    expect(reader.current()).toBeNull();
  });

  test("stay as they were read while the API server can't be asked", async () => {
    await store.apply(topology(5), { fieldManager: "user" });
    const reader = readerOf("UserDefined")!;
    await reader.read();
    failure = new StoreError("unavailable", "no API server");
    await expect(reader.read()).rejects.toThrow("no API server");
    expect(reader.current()?.zones).toEqual(pairs(5));
  });

  test("are none where the kind isn't installed or may not be read, and that is no reason to wait", async () => {
    const reader = readerOf("UserDefined")!;
    failure = new StoreError("forbidden", "may not");
    await reader.read();
    expect([reader.wasRead, reader.current()]).toEqual([true, null]);
    expect(logger.lines).toContainEqual(expect.objectContaining({ level: "warn" }));
  });

  test("are in the unit that the object says, else in that of the settings", async () => {
    await store.apply(topology(5), { fieldManager: "user" });
    const reader = readerOf("UserDefined", 2)!;
    await reader.read();
    expect(reader.current()?.unitMs).toBe(2);
    await store.apply(topology(5, { "isochrone.dev/network-cost-scale": "0.1" }), { fieldManager: "user" });
    await reader.read();
    expect(reader.current()?.unitMs).toBe(0.1);
    await store.apply(topology(5, { "isochrone.dev/network-cost-scale": "fast" }), { fieldManager: "user" });
    await reader.read();
    expect(reader.current()).toBeNull();
  });

  test("that make no sense are left out and named", async () => {
    await store.apply(topology(-4), { fieldManager: "user" });
    const reader = readerOf("UserDefined")!;
    await reader.read();
    expect(reader.current()?.zones).toEqual([{ from: "z1", to: "z3", cost: 9 }]);
    expect(JSON.stringify(logger.lines)).toContain("networkCost must be a number of at least 0, got -4");
  });

  test("of weights that the object hasn't are none, which is said", async () => {
    await store.apply(topology(5), { fieldManager: "user" });
    const reader = readerOf("Mine")!;
    await reader.read();
    expect(reader.current()).toBeNull();
    expect(JSON.stringify(logger.lines)).toContain("no weights of that name");
  });
});
