// A cluster with a foreign control plane: a memory store, and a test that binds pods.
import { isIP } from "node:net";
import { KINDS, podView, StoreError } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { LabCluster } from "./lab-cluster.ts";
import { DirectNetwork } from "./testing/direct-network.ts";
import { sites, threeServices } from "./testing/builders.ts";

const NODES = sites(2);
const WITHIN = { timeout: 30_000, interval: 50 };

interface World {
  readonly store: ClusterStore;
  readonly logger: MemoryLogger;
  readonly start: (store?: ClusterStore, signal?: AbortSignal) => Promise<LabCluster>;
}

async function world(): Promise<World> {
  const store = createMemoryStore({ clock: systemClock });
  for (const { name } of NODES) await store.create(kwokNode(name));
  const logger = new MemoryLogger();
  return {
    store,
    logger,
    start: async (seen = store, signal) => {
      const options = {
        store: seen,
        network: new DirectNetwork(NODES.map(({ name }) => name)),
        sites: NODES,
        controlPlane: "real" as const,
        manifest: threeServices(),
        clock: systemClock,
        random: seededRandom(1),
        logger,
        requestsPerSecond: 0,
        pods: { usageIntervalMs: 100 },
      };
      const cluster = await LabCluster.start(options, signal);
      onTestFinished(() => cluster.stop());
      return cluster;
    },
  };
}

function kwokNode(name: string): KubernetesObject {
  return {
    ...KINDS.node,
    metadata: { name, annotations: { "kwok.x-k8s.io/node": "fake" } },
    status: {
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
    },
  };
}

async function createPod(store: ClusterStore, name: string, workload: string, node: string): Promise<void> {
  await store.create({
    ...KINDS.pod,
    metadata: { name, namespace: "default", labels: { app: workload } },
    spec: { nodeName: node, containers: [{ name: "app", image: "test" }] },
  });
}

const statusOf = async (store: ClusterStore, name: string): Promise<Record<string, unknown>> =>
  (await store.get({ ...KINDS.pod, namespace: "default", name }))?.status ?? {};

async function readyStatus(store: ClusterStore, name: string): Promise<Record<string, unknown>> {
  return vi.waitFor(async () => {
    const pod = await store.get({ ...KINDS.pod, namespace: "default", name });
    expect(pod === null ? false : podView(pod).ready).toBe(true);
    return pod!.status!;
  }, WITHIN);
}

function storeWith(store: ClusterStore, changed: Partial<ClusterStore>): ClusterStore {
  return new Proxy(store, {
    get(target, property: keyof ClusterStore) {
      const method = changed[property] ?? target[property];
      return typeof method === "function" ? (method as () => unknown).bind(target) : method;
    },
  });
}

test("pods report addresses that an API server and its endpoint controllers take, and are read where they listen", async () => {
  const { store, start } = await world();
  const cluster = await start();
  const before = await store.get({ ...KINDS.node, name: "n1" });
  await createPod(store, "a-1", "a", "n1");
  await createPod(store, "b-1", "b", "n1");
  await createPod(store, "c-1", "c", "n2");
  const statuses = await Promise.all(["a-1", "b-1", "c-1"].map((name) => readyStatus(store, name)));
  for (const status of statuses) {
    // Kubernetes validates that the single field equals the first of the list, or answers 422.
    expect([status["hostIP"], status["hostIPs"]]).toEqual(["10.0.0.1", [{ ip: "10.0.0.1" }]]);
    expect(status["podIPs"]).toEqual([{ ip: status["podIP"] }]);
    expect(isIP(String(status["podIP"]))).toBe(4);
    expect(status["podIP"]).not.toMatch(/^127\./);
  }
  expect(new Set(statuses.map((status) => status["podIP"])).size).toBe(3);
  const page = await (await fetch(cluster.pods().find(({ name }) => name === "c-1")!.metricsUrl!)).text();
  expect(page).toContain("# TYPE istio_requests_total counter");
  await vi.waitFor(async () => {
    const usage = await (await fetch(cluster.usagePage("n1")!)).text();
    expect(usage).toMatch(/container_memory_working_set_bytes\{container="app",.*pod="b-1"\} [1-9]/);
  }, WITHIN);
  expect(await store.get({ ...KINDS.node, name: "n1" })).toEqual(before);
}, 60_000);

test("a store that is away for a moment restarts no container; what it could not be told, it is told later", async () => {
  const { store, start, logger } = await world();
  let refusals = 5;
  const cluster = await start(
    storeWith(store, {
      patch: async (ref, patch, options) => {
        if (refusals-- > 0) throw new StoreError("unavailable", "the API server is away");
        return store.patch(ref, patch, options);
      },
    }),
  );
  await createPod(store, "a-1", "a", "n1");
  const [, pid] = await vi.waitFor(() => {
    const [entry] = cluster.processes();
    expect(entry).toBeDefined();
    return entry!;
  }, WITHIN);
  const status = await readyStatus(store, "a-1");
  expect(status["containerStatuses"]).toMatchObject([{ restartCount: 0, ready: true }]);
  expect([...cluster.processes().values()]).toEqual([pid]);
  expect(logger.lines.filter(({ level }) => level === "error")).toEqual([]);
}, 60_000);

test("a status that the store refuses is said once, and the pod runs on", async () => {
  const { store, start, logger } = await world();
  let refusals = 0;
  const cluster = await start(
    storeWith(store, {
      patch: async (ref, patch, options) => {
        if (options?.subresource !== "status") return store.patch(ref, patch, options);
        refusals++;
        throw new StoreError("invalid", "status.hostIPs[0]: Invalid value");
      },
    }),
  );
  await createPod(store, "a-1", "a", "n1");
  await vi.waitFor(() => expect(logger.lines.some(({ level }) => level === "error")).toBe(true), WITHIN);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(refusals).toBe(1);
  expect(cluster.processes().size).toBe(1);
  expect(await statusOf(store, "a-1")).not.toHaveProperty("podIP");
}, 60_000);

const leftOf = async (store: ClusterStore): Promise<number> =>
  (await store.list(KINDS.deployment)).items.length + (await store.list(KINDS.service)).items.length;

test("a start that is aborted while objects are created leaves none of them", async () => {
  const { store, start } = await world();
  const aborting = new AbortController();
  const applied: string[] = [];
  const slow = storeWith(store, {
    apply: async (object, options) => {
      const result = await store.apply(object, options);
      applied.push(object.metadata.name);
      aborting.abort(new Error("taking too long"));
      return result;
    },
  });
  await expect(start(slow, aborting.signal)).rejects.toThrow("taking too long");
  expect(applied.length).toBeGreaterThan(0);
  expect(await leftOf(store)).toBe(0);
}, 60_000);

test("a start that fails halfway leaves nothing, and neither does an end during which the store stumbles", async () => {
  const { store, start } = await world();
  const failing = storeWith(store, {
    apply: async (object, options) => {
      if (object.kind === "Deployment" && object.metadata.name === "c")
        throw new StoreError("forbidden", "no Deployment c here");
      return store.apply(object, options);
    },
  });
  await expect(start(failing)).rejects.toThrow("no Deployment c here");
  expect(await leftOf(store)).toBe(0);

  let stumbles = 3;
  const cluster = await start(
    storeWith(store, {
      delete: async (ref, options) => {
        if (stumbles-- > 0) throw new StoreError("timeout", "no answer");
        return store.delete(ref, options);
      },
    }),
  );
  expect(await leftOf(store)).toBe(6);
  await cluster.stop();
  expect(await leftOf(store)).toBe(0);
}, 60_000);
