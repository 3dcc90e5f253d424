import { FIELD_MANAGER } from "@isochrone/aggregator/testing";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import type { ApiServerClusterStore } from "@isochrone/kubernetes/testing";
import { link } from "@isochrone/placement/testing";
import { seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { annotatedCluster, ClusterGraph, readNodeAnnotations } from "@isochrone/topology";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  controlPlaneSupport,
  startControlPlane,
  workloadObject,
  type ControlPlane,
} from "../harness/control-plane/index.ts";
import { graphNode, WriterTestbed } from "../harness/writers.ts";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`writers on a real API server skipped: ${support.reason}`);

const CPU = "isochrone.dev/available-cpu";
const NAMES = Array.from({ length: 8 }, (_, index) => `node-${index}`);
/** Minimum intervals: refreshes are due after 9.1 to 9.6 s. */
const SETTINGS = { refreshMs: 10_000, minIntervalMs: 1000, writesPerSecond: 100, netperfIntervalMs: 1000 };

describe.runIf(support.supported)("writers on a real API server", () => {
  let cluster: ControlPlane;
  let store: ApiServerClusterStore;
  let logger: MemoryLogger;
  let testbed: WriterTestbed;

  beforeAll(async () => {
    cluster = await startControlPlane({ audit: true });
  }, 900_000);
  afterAll(() => cluster?.close());

  beforeEach(async () => {
    await cluster.addNodes(8);
    logger = new MemoryLogger();
    store = openStore(cluster.kubeconfig);
  });
  afterEach(async () => {
    await testbed.stop();
    store.close();
    for (const { metadata } of await cluster.list("nodes"))
      await cluster.request("DELETE", `/api/v1/nodes/${metadata.name}`);
  });

  function openStore(kubeconfig: string): ApiServerClusterStore {
    return createApiServerStore({
      credentials: { kubeconfig },
      clock: systemClock,
      random: seededRandom(1),
      logger,
      qps: 1000,
      burst: 1000,
    });
  }

  async function start(
    settings: Readonly<Record<string, unknown>> = {},
    on: ApiServerClusterStore = store,
  ): Promise<void> {
    testbed = new WriterTestbed({
      store: on,
      clock: systemClock,
      logger,
      settings: { ...SETTINGS, ...settings },
    });
    testbed.nodes = NAMES.map((name) => graphNode(name));
    testbed.links = NAMES.flatMap((from, i) =>
      NAMES.filter((to) => to !== from).map((to, j) => link(from, to, 1 + i * 10 + j / 7)),
    );
    await testbed.start();
  }

  const nodesWhere = (are: (nodes: readonly KubernetesObject[]) => boolean): Promise<KubernetesObject[]> =>
    cluster.waitFor("nodes", (nodes) => are(nodes) && [...nodes]);
  const hasCpu = ({ metadata }: KubernetesObject): boolean => metadata.annotations?.[CPU] !== undefined;
  const isWritten = ({ metadata }: KubernetesObject): boolean =>
    metadata.annotations?.["isochrone.dev/observed-at"] !== undefined;
  const all = (nodes: readonly KubernetesObject[]): boolean => nodes.length === 8 && nodes.every(isWritten);
  const writesSince = async (sinceMs: number): Promise<string[]> => {
    const events = await cluster.auditEvents(
      ({ verb, resource, receivedMs, path }) =>
        verb === "patch" && resource === "nodes" && receivedMs >= sinceMs && path.includes(FIELD_MANAGER),
    );
    return events.map(({ name }) => name);
  };

  test("write the graph onto 8 nodes so that it can be read back, and take it off again", async () => {
    await start();
    const nodes = await nodesWhere(all);
    const graph = new ClusterGraph(
      annotatedCluster(
        nodes.map(({ metadata }) => ({ ...graphNode(metadata.name), annotations: metadata.annotations! })),
        { nowMs: Date.now() },
      ).snapshot,
    );
    for (const { source, target, costMs } of testbed.links) {
      const cost = graph.cost(source, target);
      expect(cost.known && Math.abs(cost.ms - costMs!)).toBeLessThanOrEqual(0.0005);
    }
    await testbed.stop();
    await start({ nodes: false });
    await nodesWhere((after) =>
      after.every(({ metadata }) =>
        Object.keys(metadata.annotations ?? {}).every((key) => !key.startsWith("isochrone")),
      ),
    );
  });

  test("leave a field to kubectl and tell of it once; written by both in turn it is not fought over", async () => {
    await cluster.kubectl("annotate", "node", "node-1", `${CPU}=1`);
    await start();
    const nodes = await nodesWhere(all);
    expect(nodes.find(({ metadata }) => metadata.name === "node-1")!.metadata.annotations).toMatchObject({
      [CPU]: "1",
      "isochrone.dev/available-memory": "4194304Ki",
    });
    await cluster.kubectl("annotate", "node", "node-2", `${CPU}=3`, "--overwrite");
    testbed.nodes = NAMES.map((name) => graphNode(name, { availableCpuMillicores: 1500 }));
    await nodesWhere(
      (after) => after.filter(({ metadata }) => metadata.annotations?.[CPU] === "1500m").length === 6,
    );
    await cluster.kubectl("annotate", "node", "node-1", `${CPU}-`);
    const after = await nodesWhere((nodes) => nodes[1]!.metadata.annotations?.[CPU] === "1500m");
    expect(after[2]!.metadata.annotations![CPU]).toBe("3");
    expect(testbed.events.map(({ name, event }) => [name, event.reason])).toEqual([
      ["node-1", "AnnotationConflict"],
      ["node-2", "AnnotationConflict"],
    ]);
    expect(await testbed.metric("isochrone_aggregator_annotation_conflicts_total", { kind: "node" })).toBe(2);
  });

  test("don't bring back a node that is deleted before the watch tells, nor write onto its successor", async () => {
    await start();
    await nodesWhere(all);
    testbed.freeze();
    await cluster.request("DELETE", "/api/v1/nodes/node-3");
    await cluster.request("DELETE", "/api/v1/nodes/node-4");
    await cluster.addNodes([{ name: "node-4" }]);
    testbed.nodes = NAMES.map((name) => graphNode(name, { availableCpuMillicores: 1000 }));
    await expect
      .poll(
        () =>
          testbed.metric("isochrone_aggregator_annotation_writes_total", { kind: "node", result: "gone" }),
        { timeout: 20_000 },
      )
      .toBeGreaterThanOrEqual(2);
    expect(await cluster.get({ ...KINDS.node, name: "node-3" })).toBeNull();
    expect(hasCpu((await cluster.get({ ...KINDS.node, name: "node-4" }))!)).toBe(false);
    testbed.thaw();
    await nodesWhere(
      (nodes) => nodes.length === 7 && nodes.every(({ metadata }) => metadata.annotations?.[CPU] === "1000m"),
    );
  });

  test("go on after the API server was away", async () => {
    await start();
    await nodesWhere(all);
    await cluster.stopApiServer();
    testbed.nodes = NAMES.map((name) => graphNode(name, { availableCpuMillicores: 500 }));
    await systemClock.sleep(3000);
    await cluster.startApiServer();
    const nodes = await nodesWhere((nodes) =>
      nodes.every(({ metadata }) => metadata.annotations?.[CPU] === "500m"),
    );
    expect(nodes.length).toBe(8);
  });

  test("of a steady graph write the refreshes and nothing else, jitter or not", async () => {
    await start();
    await nodesWhere(all);
    await systemClock.sleep(1000);
    const sinceMs = Date.now();
    const random = seededRandom(3);
    for (let step = 0; step < 60; step++) {
      testbed.nodes = NAMES.map((name) =>
        graphNode(name, { availableCpuMillicores: 2000 * (1 + 0.04 * random.next()) }),
      );
      await systemClock.sleep(100);
    }
    expect(await writesSince(sinceMs)).toEqual([]);
    await systemClock.sleep(4500);
    expect((await writesSince(sinceMs)).toSorted()).toEqual(NAMES);
  });

  test("say once what a role must grant", async () => {
    const identity = { serviceAccount: { namespace: "isochrone", name: "aggregator" } };
    await cluster.grant(identity, [
      { apiGroups: ["", "apps"], resources: ["nodes", "deployments"], verbs: ["get", "list", "watch"] },
    ]);
    const restricted = openStore(await cluster.kubeconfigOf(identity));
    await start({}, restricted);
    await expect
      .poll(
        () =>
          testbed.metric("isochrone_aggregator_annotation_writes_total", {
            kind: "node",
            result: "forbidden",
          }),
        { timeout: 20_000 },
      )
      .toBeGreaterThan(0);
    await systemClock.sleep(7000);
    const warnings = logger.lines.filter(({ level }) => level === "warn");
    expect(warnings.map(({ fields }) => [fields["verb"], fields["resource"]])).toEqual([["patch", "nodes"]]);
    restricted.close();
  });

  test("annotate a Deployment with its use and traffic, and leave its template alone", async () => {
    const [created] = await cluster.create(workloadObject("cart", { namespace: "default" }));
    await start({ nodes: false, workloads: true });
    const member = {
      namespace: "default",
      kind: "Deployment",
      cpuMillicores: 120,
      memoryBytes: 2 ** 20,
      pods: [],
    };
    const channel = {
      requestsPerSecond: 1,
      errorRatio: 0,
      priority: null,
      maxNetworkCost: null,
      minBandwidthBitsPerSecond: null,
      origin: "observed" as const,
      ageSeconds: 1,
    };
    testbed.workflows = [
      {
        version: 1,
        observedAt: "",
        namespace: "default",
        name: "default",
        workloads: [
          { ...member, name: "cart" },
          { ...member, name: "api", namespace: "pay" },
        ],
        channels: [{ ...channel, source: "cart", target: "api", bytesPerSecond: 1500 }],
      },
    ];
    const [annotated] = await cluster.waitFor("deployments", (all) => {
      const [cart] = all;
      return cart?.metadata.annotations?.["isochrone.dev/cpu-usage"] !== undefined && [...all];
    });
    expect(annotated!.metadata.annotations).toMatchObject({
      "isochrone.dev/cpu-usage": "120m",
      "isochrone.dev/memory-usage": "1024Ki",
      "isochrone.dev/traffic-pay.api": "1500",
    });
    expect(annotated!.spec).toEqual(created!.spec);
    await cluster.request("DELETE", "/apis/apps/v1/namespaces/default/deployments/cart");
  });

  test("keep KEP-260's ConfigMap, and others' entries in it", async () => {
    await cluster.create({
      ...KINDS.configMap,
      metadata: { namespace: "default", name: "netperf-metrics" },
      data: { mine: "1" },
    });
    await start({ nodes: false, netperfConfigMap: "default/netperf-metrics" });
    const ref = { ...KINDS.configMap, namespace: "default", name: "netperf-metrics" };
    const data = async (): Promise<Record<string, string>> =>
      (await cluster.get(ref))!["data"] as Record<string, string>;
    await expect.poll(async () => Object.keys(await data()).length, { timeout: 20_000 }).toBe(1 + 8 * 7);
    expect(await data()).toMatchObject({
      mine: "1",
      "netperf.p90.latency.milliseconds.origin.node-0.destination.node-1": "1",
      "netperf.p90.latency.milliseconds.origin.node-7.destination.node-1": "72",
    });
  });

  test("are read as they were written, by anybody with the prefix", async () => {
    await start({ prefix: "" });
    const nodes = await nodesWhere((found) =>
      found.every(({ metadata }) => metadata.annotations?.["available-cpu"] !== undefined),
    );
    const { availableCpuMillicores, networkCostsMs, faults } = readNodeAnnotations(
      nodes[0]!.metadata.annotations!,
    );
    expect([availableCpuMillicores, networkCostsMs.size, faults]).toEqual([2000, 7, []]);
  });
});
