// Demand through the real pipeline. The pages follow Istio's sources.
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import type { Aggregator } from "@isochrone/aggregator/testing";
import { createMemoryBus } from "@isochrone/bus/memory";
import { collectorSettings, createCollector } from "@isochrone/collector";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom, systemClock, type Service } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { Bill, Demand, GraphHistory } from "@isochrone/topology";
import { GraphClient } from "@isochrone/topology/client";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EnvoyPage } from "../harness/mesh/proxies.ts";

const INTERVAL_MS = 500;
const ZONE_OF: Readonly<Record<string, string>> = { n1: "west", n2: "east" };
const STEP_MS = 50;

const services: Service[] = [];
const pages: Readonly<Record<string, EnvoyPage>> = {
  n1: new EnvoyPage("source"),
  n2: new EnvoyPage("source"),
};
const loading = new AbortController();
let aggregator: Aggregator;
let load: Promise<void>;

const node = (name: string): KubernetesObject => ({
  ...KINDS.node,
  metadata: {
    name,
    labels: { "topology.kubernetes.io/zone": ZONE_OF[name]!, "topology.kubernetes.io/region": "us-east-1" },
  },
  spec: { providerID: `aws:///${ZONE_OF[name]!}/${name}` },
});
const ownedBy = (kind: string, name: string) => [
  { apiVersion: "apps/v1", kind, name, uid: `${kind}-${name}`, controller: true },
];
const workload = (name: string, ...nodes: readonly string[]): KubernetesObject[] => [
  {
    ...KINDS.deployment,
    metadata: { namespace: "shop", name },
    spec: { selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } } } },
  },
  {
    ...KINDS.replicaSet,
    metadata: { namespace: "shop", name: `${name}-1`, ownerReferences: ownedBy("Deployment", name) },
  },
  ...nodes.map((on) => ({
    ...KINDS.pod,
    metadata: {
      namespace: "shop",
      name: `${name}-${on}`,
      labels: { app: name },
      ownerReferences: ownedBy("ReplicaSet", `${name}-1`),
    },
    spec: { nodeName: on, containers: [{ name: "main", image: "none" }] },
    status: { phase: "Running" },
  })),
];
const db: KubernetesObject = {
  ...KINDS.service,
  metadata: { namespace: "shop", name: "db", annotations: { "isochrone.dev/deadline": "100ms" } },
  spec: { selector: { app: "db" } },
};

/** Three of four requests come from the west. The east's requests are slow. */
function exchange(n: number): void {
  const isEast = n % 4 === 0;
  const status = n % 10 === 1 ? 503 : 200;
  pages[isEast ? "n2" : "n1"]!.take({
    clientPod: "web",
    serverPod: "db",
    requestBytes: 500,
    responseBytes: 500,
    status,
    durationMs: isEast ? 400 : 7,
  });
}

async function makeLoad(): Promise<void> {
  const beganMs = Date.now();
  for (let n = 0; !loading.signal.aborted;) {
    for (; n < (Date.now() - beganMs) / 5; n++) exchange(n);
    await systemClock.sleep(STEP_MS);
  }
}

beforeAll(async () => {
  const server = createServer((request, response) => {
    const { contentType, text } = pages[(request.url ?? "").slice(1)]!.page;
    response.setHeader("content-type", contentType);
    response.end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const bus = createMemoryBus({ clock: systemClock });
  const store = createMemoryStore({ clock: systemClock });
  const workloads = [...workload("web", "n1", "n2"), ...workload("db", "n1")];
  for (const object of [node("n1"), node("n2"), db, ...workloads]) await store.create(object);
  const surroundings = { bus, clock: systemClock, random: seededRandom(1), logger: new MemoryLogger() };
  const section = { windowMs: 30_000, paneMs: 2000, buildIntervalMs: 300, host: "127.0.0.1", port: 0 };
  const { aggregator: config } = loadSettings([aggregatorSettings], {
    env: {},
    file: { aggregator: section },
  });
  aggregator = createAggregator(config, { ...surroundings, store, registry: createRegistry() });
  const collectors = ["n1", "n2"].map((name) => {
    const file = { collector: { node: name, intervalMs: INTERVAL_MS, timeoutMs: INTERVAL_MS - 50 } };
    const { collector } = loadSettings([collectorSettings], { env: {}, file });
    const target = { kind: "istio" as const, url: `http://127.0.0.1:${port}/${name}`, instance: name };
    return createCollector(collector, {
      ...surroundings,
      targets: { targets: () => [target] },
      registry: createRegistry(),
    });
  });
  services.push({ start: async () => undefined, stop: () => bus.close() });
  for (const service of [aggregator, ...collectors]) {
    await service.start();
    services.push(service);
  }
  services.push({
    start: async () => undefined,
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  });
  load = makeLoad();
}, 60_000);

afterAll(async () => {
  loading.abort();
  await load;
  for (const service of services.reverse()) await service.stop();
});

async function read<T>(path: string): Promise<T> {
  return (await aggregator.app.inject({ url: path })).json<T>();
}

test("what each zone asks of a Service is in the graph API, with its share in time, and in the history", async () => {
  await expect
    .poll(async () => (await read<Partial<Demand>>("/api/v1/graph/demand")).services?.[0]?.zones.length, {
      timeout: 60_000,
    })
    .toBe(2);
  await systemClock.sleep(6000);
  const { services: found, windowSeconds } = await read<Demand>("/api/v1/graph/demand");
  expect(windowSeconds).toBe(30);
  expect(found).toMatchObject([{ namespace: "shop", name: "db", deadlineMs: 100 }]);
  const [east, west] = found[0]!.zones;
  expect([east!.zone, west!.zone]).toEqual(["east", "west"]);
  // The ratio of the load does not depend on the machine's speed.
  expect(west!.requestsPerSecond / east!.requestsPerSecond).toBeGreaterThan(2.6);
  expect(west!.requestsPerSecond / east!.requestsPerSecond).toBeLessThan(3.4);
  expect(east!.inTimeRatio).toBe(0);
  expect(west!.inTimeRatio! + west!.errorRatio!).toBeCloseTo(1, 6);
  expect(west!.errorRatio).toBeGreaterThan(0.05);
  expect(west!.latencyMs.p50).toBeGreaterThan(5);
  expect(west!.latencyMs.p99).toBeLessThanOrEqual(10);
  expect(east!.latencyMs.p50).toBeGreaterThan(250);

  const { times } = await read<GraphHistory>("/api/v1/graph/history");
  const past = await read<Demand>(`/api/v1/graph/demand?at=${times.at(-1)!}`);
  expect(past.observedAt).toBe(times.at(-1));
  expect(
    (await aggregator.app.inject({ url: "/api/v1/graph/demand?at=2001-01-01T00:00:00Z" })).statusCode,
  ).toBe(404);
  expect((await read<Demand>("/api/v1/graph/demand?window=fast")).windowSeconds).toBeLessThan(30);

  const { port } = aggregator.app.server.address() as AddressInfo;
  const client = new GraphClient({ baseUrl: `http://127.0.0.1:${port}`, timeoutMs: 10_000 });
  expect((await client.demand()).value.services[0]!.name).toBe("db");
}, 120_000);

test("the bill has the bytes that the proxies of each zone counted, by the prices of AWS, within 1 %", async () => {
  const MONTH_SECONDS = 730 * 3600;
  /** Price per byte between zones, for each end. */
  const PER_BYTE = 0.02 / 1e9;
  const difference = async (): Promise<number> => {
    const { total, zones } = await read<Bill>("/api/v1/graph/bill");
    expect(total).toMatchObject({ channels: 1, channelsUnknown: 0, unpricedBytesPerSecond: 0 });
    expect(zones.map(({ from, to }) => `${from.zone} ${to.zone}`)).toEqual(["east west", "west west"]);
    // db runs in the west only, so traffic of its eastern callers crosses zones.
    const crossing = pages.n2!.bytes / (pages.n1!.bytes + pages.n2!.bytes);
    const counted = total.bytesPerSecond! * crossing * MONTH_SECONDS * PER_BYTE;
    return Math.abs(total.perMonth! / counted - 1);
  };
  await expect.poll(difference, { timeout: 60_000, interval: 500 }).toBeLessThan(0.01);
}, 120_000);
