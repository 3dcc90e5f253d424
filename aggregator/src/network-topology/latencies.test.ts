import { KINDS, StoreError, type ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { ClusterGraph, type ClusterGraphSnapshot } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { beforeEach, describe, expect, test } from "vitest";
import { clusterControllerSections } from "../cluster-controllers.ts";
import { startAggregator } from "../testing/aggregator.ts";
import { nodeObject } from "../testing/cluster.ts";
import type { ReadLatencies } from "../domain/graphs/node-latencies.ts";
import { pollLatencies } from "./latencies.ts";
import type { PolledObject } from "./polled-object.ts";
import { configMapMistake } from "./settings.ts";

const REF = { ...KINDS.configMap, namespace: "netperf", name: "latencies" };
const key = (source: string, target: string): string =>
  `netperf.p90.latency.milliseconds.origin.${source}.destination.${target}`;
const configMap = (data: Record<string, string>) => ({
  ...KINDS.configMap,
  metadata: { namespace: REF.namespace, name: REF.name },
  data,
});

let clock: ManualClock;
let logger: MemoryLogger;
let registry: Registry;
let store: ClusterStore;
let failure: Error | null;

beforeEach(() => {
  clock = new ManualClock();
  logger = new MemoryLogger();
  registry = createRegistry();
  store = createMemoryStore({ clock });
  failure = null;
});

function settingsOf(networkTopology: Readonly<Record<string, unknown>>) {
  return loadSettings(Object.values(clusterControllerSections), { env: {}, file: { networkTopology } });
}

function readerOf(latenciesFrom: string | null): PolledObject<ReadLatencies> | null {
  const { networkTopology } = settingsOf(latenciesFrom === null ? {} : { latenciesFrom });
  return pollLatencies({
    config: networkTopology,
    store: { get: (ref) => (failure === null ? store.get(ref) : Promise.reject(failure)) },
    clock,
    logger,
    registry,
    use: () => ({ used: 3, measured: 2, unknownNode: 1 }),
  });
}

const warnings = (): unknown[] =>
  logger.lines.filter(({ level }) => level === "warn").map(({ event }) => event);

async function counted(): Promise<Record<string, number>> {
  const { values } = await registry.getSingleMetric("isochrone_network_topology_latencies")!.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels["state"], value]));
}

describe("the ConfigMap of latencies", () => {
  test("is read where an operator names one, and nowhere by itself", () => {
    expect(readerOf(null)).toBeNull();
    expect(() => settingsOf({ latenciesFrom: "latencies" })).toThrow(
      /latenciesFrom \(\w+\) must be namespace\/name of a ConfigMap, got latencies$/m,
    );
  });

  test("gives what it holds, says once what of it can't be used, and counts", async () => {
    const reader = readerOf("netperf/latencies")!;
    await store.create(configMap({ [key("a", "b")]: "60", [key("b", "a")]: "-1", [key("a", "a")]: "5" }));
    for (let look = 0; look < 3; look++) await reader.read();
    expect(reader.current().pairs).toEqual([{ source: "a", target: "b", ms: { p90: 60 } }]);
    expect(warnings()).toEqual(["latencies left out"]);
    expect(await counted()).toEqual({
      used: 3,
      measured: 2,
      unknown_node: 1,
      bad_key: 1,
      bad_value: 1,
      too_large: 0,
    });
  });

  test("says nothing any more once it is gone, and what it said last while the API server is away", async () => {
    const reader = readerOf("netperf/latencies")!;
    await store.create(configMap({ [key("a", "b")]: "60" }));
    await reader.read();
    failure = new StoreError("unavailable", "away");
    await expect(reader.read()).rejects.toThrow("away");
    expect(reader.current().pairs).toHaveLength(1);
    failure = null;
    await store.delete(REF);
    await reader.read();
    expect(reader.current().pairs).toEqual([]);
  });

  test("that may not be read is told with the right that is missing, and keeps no graph waiting", async () => {
    const reader = readerOf("netperf/latencies")!;
    failure = new StoreError("forbidden", "no");
    await reader.read();
    expect([reader.wasRead, reader.current().pairs]).toEqual([true, []]);
    expect(logger.lines.find(({ level }) => level === "warn")!.fields).toMatchObject({
      verb: "get",
      resource: "configmaps",
      configMap: "netperf/latencies",
    });
  });

  test("of more than a megabyte is not used at all", async () => {
    const reader = readerOf("netperf/latencies")!;
    await store.create(configMap({ [key("a", "b")]: "60", more: "x".repeat(1024 * 1024) }));
    await reader.read();
    expect(reader.current().pairs).toEqual([]);
    expect(warnings()).toEqual(["latencies left out"]);
    expect(await counted()).toMatchObject({ bad_key: 0, bad_value: 0, too_large: 1 });
  });

  test("is not the one that is written here: each would take away what the other wrote", () => {
    expect(configMapMistake("netperf/latencies", "netperf/latencies")).toContain(
      "networkTopology.latenciesFrom must not be annotations.netperfConfigMap",
    );
    expect(configMapMistake("netperf/latencies", "default/netperf-metrics")).toBeNull();
    expect(configMapMistake(null, null)).toBeNull();
  });
});

test("what another component writes is the cost of a pair in the graph API, as long as it stands there", async () => {
  const controllers = settingsOf({ latenciesFrom: "netperf/latencies", writer: "upstream" });
  const running = await startAggregator({ parts: { controllers } });
  const { aggregator, clock: itsClock, store: its } = running;
  try {
    await its.create(nodeObject("a", "z1"));
    await its.create(nodeObject("b", "z2"));
    await its.create(configMap({ [key("a", "b")]: "60" }));
    const cost = async (): Promise<unknown> => {
      await itsClock.advance(controllers.networkTopology.checkIntervalMs);
      await itsClock.advance(2000);
      const { body } = await aggregator.app.inject("/api/v1/graph/cluster");
      return new ClusterGraph(JSON.parse(body) as ClusterGraphSnapshot).cost("a", "b");
    };
    expect(await cost()).toMatchObject({ known: true, ms: 60, origin: "declared" });
    await its.update({ ...(await its.get(REF))!, data: { [key("a", "b")]: "75" } });
    expect(await cost()).toMatchObject({ known: true, ms: 75 });
    await its.delete(REF);
    expect(await cost()).toEqual({ known: false, reason: "unmeasured" });
  } finally {
    await running.stop();
  }
});
