// Testbed of the page: a real aggregator with its page on the memory bus, fed with a cluster of any size.
import { aggregatorSettings, createAggregator, loadPrices } from "@isochrone/aggregator";
import type { Aggregator } from "@isochrone/aggregator/testing";
import { createMemoryBus } from "@isochrone/bus/memory";
import { createPage, withEmulator } from "@isochrone/dashboard";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { addLinkRoutes, type LinkRoutesOptions } from "@isochrone/lab";
import { createRegistry, loadSettings, seededRandom, systemClock, systemRandom } from "@isochrone/runtime";
import type { HttpApp } from "@isochrone/runtime/http";
import { MemoryLogger } from "@isochrone/runtime/testing";
import {
  Distribution,
  encodeMetrics,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
  TOPICS,
  type Metric,
} from "@isochrone/telemetry";

interface PageTestbedOptions {
  readonly nodes: number;
  readonly zoneSize: number;
  readonly degree: number;
  /** Name of node `index`. @default node-0001 */
  readonly nameOf?: (index: number) => string;
  /** Number of workflows with one Deployment each, named by `workflowOf`. @default 0 */
  readonly workflows?: number;
  /** A workflow with traffic: workloads with node indices; each calls the next. @default none */
  readonly shop?: readonly (readonly [workload: string, node: number])[];
  /** Enables the page's emulator controls, as in the embedded cluster. @default none */
  readonly emulator?: LinkRoutesOptions;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly prices?: string;
}

export interface PageTestbed {
  readonly url: string;
  readonly aggregator: Aggregator;
  readonly names: readonly string[];
  set(source: number, target: number, ms: number | null): void;
  publish(): Promise<void>;
  stop(): Promise<void>;
}

const SAMPLES = 25;
const ZONES_PER_REGION = 4;

export async function startPageTestbed(options: PageTestbedOptions): Promise<PageTestbed> {
  const { nodes, zoneSize, degree } = options;
  const nameOf = options.nameOf ?? ((index) => `node-${String(index + 1).padStart(4, "0")}`);
  const names = Array.from({ length: nodes }, (_, index) => nameOf(index));
  const random = seededRandom(7);
  const places = names.map((_, index) => placeOf(Math.floor(index / zoneSize)));
  const peers = names.map((_, index) => peersOf(index, nodes, degree));
  const changed = new Map<string, number | null>();
  const store = createMemoryStore({ clock: systemClock });
  for (const [index, name] of names.entries())
    await store.create(nodeObject(name, Math.floor(index / zoneSize)));
  for (let index = 0; index < (options.workflows ?? 0); index++)
    await store.create(deploymentObject(workflowOf(index)));
  const shop = options.shop ?? [];
  for (const [workload, node] of shop)
    for (const object of shopObjects(workload, names[node]!)) await store.create(object);
  const bus = createMemoryBus({ clock: systemClock });
  const { aggregator: config } = loadSettings([aggregatorSettings], {
    env: {},
    file: {
      aggregator: {
        host: "127.0.0.1",
        port: 0,
        windowMs: 30_000,
        paneMs: 2000,
        buildIntervalMs: 1000,
        ...options.settings,
      },
    },
  });
  const aggregator = createAggregator(config, {
    bus,
    store,
    clock: systemClock,
    random: systemRandom,
    logger: new MemoryLogger(),
    registry: createRegistry(),
    ...pageOf(options.emulator),
    ...(options.prices === undefined ? {} : { prices: loadPrices(options.prices) }),
  });
  await aggregator.start();
  const rttOf = (source: number, target: number): number | null => {
    const set = changed.get(`${source} ${target}`);
    if (set !== undefined) return set;
    const [a, b] = [places[source]!, places[target]!];
    return 0.3 + Math.hypot(a.x - b.x, a.y - b.y) + 0.2 * random.next();
  };
  const beganMs = Date.now() - 1000;
  const bytes = options.prices === undefined ? [] : ["istio_request_bytes_sum"];
  const counted = ["istio_requests_total", ...bytes];
  const publish = async (): Promise<void> => {
    for (const [source, name] of names.entries()) {
      const samples = peers[source]!.map((target) => ({ target: names[target]!, ms: rttOf(source, target) }));
      await bus.publish(TOPICS.probe, [{ key: name, value: recordsOf(name, samples), headers: {} }]);
    }
    if (shop.length > 1) await bus.publish(TOPICS.traffic, [trafficOf(names[0]!, shop, beganMs, counted)]);
  };
  await publish();
  return {
    url: aggregator.address().url,
    aggregator,
    names,
    set: (source, target, ms) => changed.set(`${source} ${target}`, ms),
    publish,
    async stop() {
      await aggregator.stop();
      await bus.close();
    },
  };
}

/** Position in ms. Zones of a region are near each other, and regions are far apart. */
function placeOf(zone: number): { readonly x: number; readonly y: number } {
  const region = Math.floor(zone / ZONES_PER_REGION);
  const [angle, within] = [region * 2.4, zone * 2.4];
  return {
    x: 60 * Math.sqrt(region) * Math.cos(angle) + 3 * Math.cos(within),
    y: 60 * Math.sqrt(region) * Math.sin(angle) + 3 * Math.sin(within),
  };
}

/** Half of the peers are near, half are spread over all nodes. */
function peersOf(index: number, nodes: number, degree: number): number[] {
  const peers = new Set<number>();
  const most = Math.min(degree, nodes - 1);
  for (let step = 1; peers.size < most / 2; step++) peers.add((index + step) % nodes);
  const stride = Math.max(1, Math.floor(nodes / Math.max(degree, 1)));
  for (let step = 1; peers.size < most && step < nodes; step++) peers.add((index + step * stride) % nodes);
  for (let step = 1; peers.size < most; step++) peers.add((index + step) % nodes);
  peers.delete(index);
  return [...peers];
}

export function workflowOf(index: number): string {
  return `flow-${String(index + 1).padStart(5, "0")}`;
}

function deploymentObject(name: string) {
  const labels = { app: name, "isochrone.dev/workflow": name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "many", name, labels },
    spec: { selector: { matchLabels: { app: name } }, template: { metadata: { labels }, spec: {} } },
  };
}

function pageOf(emulator: LinkRoutesOptions | undefined) {
  return emulator === undefined
    ? { page: createPage() }
    : {
        page: withEmulator(createPage()),
        addRoutes: (app: HttpApp) => addLinkRoutes(app, emulator),
      };
}

function shopObjects(workload: string, nodeName: string) {
  const hash = "7d4b9c6f58";
  const labels = { app: workload, "isochrone.dev/workflow": "shop" };
  const template = { metadata: { labels }, spec: {} };
  return [
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace: "shop", name: workload, labels },
      spec: { selector: { matchLabels: { app: workload } }, template },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        namespace: "shop",
        name: `${workload}-${hash}-x2x2x`,
        labels: { ...labels, "pod-template-hash": hash },
        ownerReferences: [
          {
            apiVersion: "apps/v1",
            kind: "ReplicaSet",
            name: `${workload}-${hash}`,
            uid: workload,
            controller: true,
          },
        ],
      },
      spec: { nodeName, containers: [{ name: "app" }] },
      status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
    },
  ];
}

const REQUESTS_PER_SECOND = 10;

/** @param counted metrics with the same count: requests, and bytes for price tests */
function trafficOf(
  node: string,
  shop: readonly (readonly [string, number])[],
  beganMs: number,
  counted: readonly string[],
) {
  const timeMs = Date.now();
  const value = Math.round(((timeMs - beganMs) / 1000) * REQUESTS_PER_SECOND);
  const points = shop.slice(1).map(([target], index) => ({
    attributes: {
      reporter: "source",
      source_workload: shop[index]![0],
      source_workload_namespace: "shop",
      destination_workload: target,
      destination_workload_namespace: "shop",
      response_code: "200",
    },
    startMs: beganMs,
    timeMs,
    value,
  }));
  const metrics = counted.map((name): Metric => ({
    kind: "sum",
    name,
    temporality: "cumulative",
    monotonic: true,
    points,
  }));
  const resource = { [RESOURCE_ATTRIBUTES.node]: node };
  return {
    key: node,
    value: encodeMetrics({ resource, scope: { name: "test" }, metrics }),
    headers: {},
  };
}

export function nodeObject(name: string, zone: number) {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        "topology.kubernetes.io/zone": `zone-${zone + 1}`,
        "topology.kubernetes.io/region": `region-${Math.floor(zone / ZONES_PER_REGION) + 1}`,
      },
    },
    status: {
      allocatable: { cpu: "8", memory: "32Gi" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

interface Sample {
  readonly target: string;
  /** Null: no response. */
  readonly ms: number | null;
}

export function recordsOf(node: string, samples: readonly Sample[]): Uint8Array {
  return encodeMetrics({
    resource: { [RESOURCE_ATTRIBUTES.node]: node },
    scope: { name: "test" },
    metrics: metricsOf(samples),
  });
}

function metricsOf(samples: readonly Sample[]): Metric[] {
  const timeMs = Date.now();
  const head = (target: string) => ({ destination_node: target, method: "udp_rr", ip_family: "4" });
  return [
    {
      kind: "exponentialHistogram",
      name: PROBE_METRICS.rtt,
      unit: "s",
      temporality: "delta",
      points: samples.flatMap(({ target, ms }) => {
        if (ms === null) return [];
        const distribution = new Distribution();
        for (let sample = 0; sample < SAMPLES; sample++)
          distribution.record((ms * (1 + sample / 200)) / 1000);
        return [{ attributes: head(target), startMs: timeMs - 1000, timeMs, data: distribution.toData() }];
      }),
    },
    {
      kind: "sum",
      name: PROBE_METRICS.packets,
      temporality: "delta",
      monotonic: true,
      points: samples.map(({ target, ms }) => ({
        attributes: { ...head(target), outcome: ms === null ? "lost" : "received" },
        startMs: timeMs - 1000,
        timeMs,
        value: SAMPLES,
      })),
    },
  ];
}
