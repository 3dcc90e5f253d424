// Hostile pods' claims about others' traffic, because anyone can forge Istio's and Cilium's labels.
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import { createMemoryBus } from "@isochrone/bus/memory";
import { ClusterTargets, collectorSettings, createCollector } from "@isochrone/collector";
import { KINDS, type KubernetesObject, type OwnerReference } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom, systemClock, type Service } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Aggregator } from "@isochrone/aggregator/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const NODE = "n1";
const SCRAPE_MS = 300;
const FORGED_PER_SECOND = 2e9;
const HONEST_PER_SECOND = 100;

interface Claim {
  readonly reporter: string;
  readonly source: string;
  readonly target: string;
  readonly perSecond: number;
}

function istioPage(claims: readonly Claim[], seconds: number): string {
  const rows = claims.map(({ reporter, source, target, perSecond }) => {
    const [sourceNamespace, sourceWorkload] = source.split("/");
    const [targetNamespace, targetWorkload] = target.split("/");
    const labels =
      `reporter="${reporter}",source_workload="${sourceWorkload}",source_workload_namespace="${sourceNamespace}",` +
      `destination_workload="${targetWorkload}",destination_workload_namespace="${targetNamespace}",response_code="200"`;
    return `istio_requests_total{${labels}} ${Math.round(perSecond * seconds)}`;
  });
  return `# TYPE istio_requests_total counter\n${rows.join("\n")}\n`;
}

function hubblePage(seconds: number): string {
  const row = (metric: string, labels: string): string =>
    `# TYPE ${metric} counter\n${metric}{source_namespace="bank",source_workload="vault",destination_namespace="bank",destination_workload="ledger",${labels}} ${Math.round(seconds * FORGED_PER_SECOND)}\n`;
  return (
    row("hubble_http_requests_total", 'reporter="client",status="200"') +
    row(
      "hubble_flows_processed_total",
      'type="Trace",subtype="to-endpoint",verdict="FORWARDED",traffic_direction="ingress"',
    )
  );
}

const claim = (reporter: string, source: string, target: string, perSecond: number): Claim => ({
  reporter,
  source,
  target,
  perSecond,
});

const LIES = ["source", "destination", "waypoint"].flatMap((reporter) => [
  claim(reporter, "bank/vault", "bank/ledger", FORGED_PER_SECOND),
  claim(reporter, "shop/web", "bank/vault", FORGED_PER_SECOND),
  claim(reporter, "shop/web", "shop/db", FORGED_PER_SECOND),
]);
const OWN = [
  claim("source", "evil/sidecar", "shop/db", FORGED_PER_SECOND),
  claim("destination", "bank/vault", "evil/sidecar", FORGED_PER_SECOND),
];

const beganMs = Date.now();
const PAGES: Readonly<Record<string, (seconds: number) => string>> = {
  "web-0": (seconds) => istioPage([claim("source", "shop/web", "shop/db", HONEST_PER_SECOND)], seconds),
  "db-0": (seconds) => istioPage([claim("destination", "shop/web", "shop/db", HONEST_PER_SECOND)], seconds),
  sidecar: (seconds) => istioPage([...LIES, ...OWN], seconds),
  waypoint: (seconds) => istioPage(LIES, seconds),
  ztunnel: (seconds) => istioPage(LIES, seconds),
  cilium: hubblePage,
};

interface PodSpec {
  readonly namespace: string;
  readonly name: string;
  readonly page: keyof typeof PAGES;
  readonly container?: string;
  readonly port?: string;
  readonly labels?: Record<string, string>;
  readonly owner?: OwnerReference;
  readonly hostNetwork?: boolean;
}

function controller(kind: string, name: string): OwnerReference {
  return { apiVersion: "apps/v1", kind, name, uid: `uid-${name}`, controller: true };
}

const PODS: readonly PodSpec[] = [
  { namespace: "shop", name: "web-0", page: "web-0", owner: controller("StatefulSet", "web") },
  { namespace: "shop", name: "db-0", page: "db-0", owner: controller("StatefulSet", "db") },
  { namespace: "evil", name: "sidecar-0", page: "sidecar", owner: controller("StatefulSet", "sidecar") },
  {
    namespace: "evil",
    name: "waypoint-0",
    page: "waypoint",
    labels: { "gateway.networking.k8s.io/gateway-class-name": "istio-waypoint" },
  },
  {
    namespace: "evil",
    name: "ztunnel-x",
    page: "ztunnel",
    port: "ztunnel-stats",
    labels: { app: "ztunnel" },
    owner: controller("DaemonSet", "ztunnel"),
  },
  {
    namespace: "evil",
    name: "cilium-x",
    page: "cilium",
    container: "cilium-agent",
    port: "hubble-metrics",
    labels: { "k8s-app": "cilium" },
    owner: controller("DaemonSet", "cilium"),
    hostNetwork: true,
  },
];

const services: Service[] = [];
const registry = createRegistry();
const logger = new MemoryLogger();
const asked = new Map<string, number>();
let aggregator: Aggregator;

/** @returns the port of each page, on its pod's address */
async function servePages(): Promise<Map<string, number>> {
  const ports = new Map<string, number>();
  for (const [name, page] of Object.entries(PAGES)) {
    const server = createServer((_, response) => {
      asked.set(name, (asked.get(name) ?? 0) + 1);
      response.setHeader("content-type", "text/plain; version=0.0.4");
      response.end(page(1 + (Date.now() - beganMs) / 1000));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ports.set(name, (server.address() as AddressInfo).port);
    services.push({
      start: async () => undefined,
      stop: async () => {
        server.closeAllConnections();
        await new Promise<void>((resolve) => server.close(() => resolve()));
      },
    });
  }
  return ports;
}

function podObject(spec: PodSpec, containerPort: number): KubernetesObject {
  const { namespace, name, container = "istio-proxy", port = "http-envoy-prom", owner, hostNetwork } = spec;
  return {
    ...KINDS.pod,
    metadata: { namespace, name, labels: spec.labels ?? {}, ...(owner ? { ownerReferences: [owner] } : {}) },
    spec: {
      nodeName: NODE,
      ...(hostNetwork === true ? { hostNetwork } : {}),
      containers: [{ name: container, ports: [{ name: port, containerPort }] }],
    },
    status: {
      phase: "Running",
      podIP: "127.0.0.1",
      containerStatuses: [{ name: container, state: { running: {} } }],
    },
  };
}

async function graphOf(namespace: string): Promise<WorkflowGraphSnapshot | null> {
  const response = await aggregator.app.inject({ url: `/api/v1/graph/workflows/${namespace}/${namespace}` });
  return response.statusCode === 200 ? response.json<WorkflowGraphSnapshot>() : null;
}

async function channelsOf(namespace: string): Promise<[string, number | null][]> {
  const graph = await graphOf(namespace);
  return (graph?.channels ?? []).map(({ source, target, requestsPerSecond }) => [
    `${source} ${target}`,
    requestsPerSecond,
  ]);
}

async function refused(): Promise<number> {
  const { values } = await registry.getSingleMetric("isochrone_collector_rows_refused_total")!.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

/** The hostile pages are read once their legitimate claims are in a graph. */
async function untilDrawn(): Promise<void> {
  const isDrawn = async (): Promise<boolean> => {
    const own = (await channelsOf("evil")).map(([name]) => name).join();
    const honest = await channelsOf("shop");
    return own === "sidecar db,vault sidecar" && honest.length > 0 && (await refused()) > 50;
  };
  for (const deadlineMs = Date.now() + 20_000; !(await isDrawn());) {
    if (Date.now() > deadlineMs)
      throw new Error(`pages are not drawn within 20 s: ${JSON.stringify(logger)}`);
    await systemClock.sleep(100);
  }
}

beforeAll(async () => {
  const ports = await servePages();
  const store = createMemoryStore({ clock: systemClock });
  await store.create({ ...KINDS.node, metadata: { name: NODE }, status: {} });
  for (const [namespace, name] of [
    ["bank", "vault"],
    ["bank", "ledger"],
    ["shop", "web"],
    ["shop", "db"],
  ] as const)
    await store.create({
      ...KINDS.statefulSet,
      metadata: { namespace, name },
      spec: { template: { metadata: {} } },
    });
  for (const spec of PODS) await store.create(podObject(spec, ports.get(spec.page)!));
  const file = {
    aggregator: { windowMs: 30_000, paneMs: 2000, buildIntervalMs: 300, host: "127.0.0.1", port: 0 },
    collector: { node: NODE, intervalMs: SCRAPE_MS, timeoutMs: SCRAPE_MS - 50 },
  };
  const settings = loadSettings([aggregatorSettings, collectorSettings], { env: {}, file });
  const bus = createMemoryBus({ clock: systemClock });
  const surroundings = { bus, clock: systemClock, random: seededRandom(1), logger };
  const targets = new ClusterTargets({ ...surroundings, store, node: NODE });
  aggregator = createAggregator(settings.aggregator, { ...surroundings, store, registry: createRegistry() });
  const collector = createCollector(settings.collector, { ...surroundings, targets, registry });
  await aggregator.start();
  await targets.start();
  await collector.start();
  services.push({ start: async () => undefined, stop: () => bus.close() }, aggregator, targets, collector);
  await untilDrawn();
}, 40_000);

afterAll(async () => {
  for (const service of services.reverse()) await service.stop();
});

describe("pods of a hostile namespace", () => {
  test("don't change the traffic between two other workloads, by any reporter's name", async () => {
    const channels = await channelsOf("shop");
    expect(channels.map(([name]) => name)).toEqual(["web db"]);
    expect(channels[0]![1]! / HONEST_PER_SECOND).toBeGreaterThan(0.5);
    expect(channels[0]![1]! / HONEST_PER_SECOND).toBeLessThan(2);
  });

  test("don't make up traffic in or to another namespace, whose graph stays empty", async () => {
    expect(await channelsOf("bank")).toEqual([]);
  });

  test("say of their own pods what they like, and nobody else's graph shows it", async () => {
    const own = await channelsOf("evil");
    expect(own.every(([, perSecond]) => perSecond! > FORGED_PER_SECOND / 2)).toBe(true);
    expect((await graphOf("shop"))!.workloads.map(({ name }) => name)).toEqual(["db", "web"]);
  });

  test("are read as proxies of their own pods, and never as the mesh's ztunnel or Cilium's agent", () => {
    expect(asked.get("sidecar")).toBeGreaterThan(1);
    expect(asked.get("waypoint")).toBeGreaterThan(1);
    expect(asked.get("ztunnel") ?? 0).toBe(0);
    expect(asked.get("cilium") ?? 0).toBe(0);
  });

  test("are named in the log once, with what they claim", () => {
    const told = logger.lines.filter(({ event }) => event === "rows of a page are not taken");
    expect(told.map(({ fields }) => [fields["instance"], fields["source"], fields["destination"]])).toEqual(
      expect.arrayContaining([
        ["evil/sidecar-0", "bank/vault", "bank/ledger"],
        ["evil/waypoint-0", "bank/vault", "bank/ledger"],
      ]),
    );
    expect(told).toHaveLength(2);
  });
});
